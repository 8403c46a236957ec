// Fills the template as the exporter does, and opens the result in a browser.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'

const here = dirname(fileURLToPath(import.meta.url))
const template = readFileSync(join(here, '../page.html'), 'utf8')
export const out = join(here, 'out')

function html(text) {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}

export function json(report) {
  return JSON.stringify(report).replace(/[<>&\u2028\u2029]/g, (character) =>
    `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function staticPart(report) {
  const [finding] = report.findings
  const text = `rollcall: ${report.status}\n\n  ${finding ? finding.title : 'nothing was found'}`
  const rows = report.findings.map(({ kind, certainty, title }) =>
    `<tr><td>${html(kind)}</td><td>${html(certainty)}</td><td>${html(title)}</td></tr>`)
  return `<pre id="verdict-text">${html(text)}</pre>\n` +
    `<table id="verdict-table"><tr><th>kind</th><th>certainty</th><th>title</th></tr>` +
    `${rows.join('')}</table>`
}

/** The page of a report; `data` replaces its JSON. */
export function pageOf(report, data = json(report)) {
  const parts = {
    title: `rollcall: ${report.status}`,
    static: staticPart(report),
    data: `<script type="application/json" id="report-data">${data}</script>`,
  }
  return template.replace(/<!--rollcall:(title|static|data)-->/g, (_, name) => parts[name])
}

export function writePage(name, content) {
  mkdirSync(out, { recursive: true })
  const path = join(out, `${name}.html`)
  writeFileSync(path, content)
  return path
}

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  })
}

/** Opens a page and records what it must not do: messages, errors, requests. */
export async function open(browser, path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await context.newPage()
  const complaints = []
  const url = pathToFileURL(path).href
  page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`))
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`))
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`)
    dialog.dismiss()
  })
  page.on('request', (request) => {
    if (request.url() !== url) complaints.push(`request: ${request.url().slice(0, 200)}`)
  })
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`))
  })
  await page.goto(url)
  return { page, context, complaints }
}
