// Makes page.html: the template that collector/export/html.cc fills with a report.
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const here = dirname(fileURLToPath(import.meta.url))
const placeholders = ['<!--rollcall:title-->', '<!--rollcall:static-->', '<!--rollcall:data-->']

async function bundle(entry, options) {
  const result = await build({
    entryPoints: [join(here, entry)],
    absWorkingDir: here,
    bundle: true,
    minify: true,
    write: false,
    charset: 'ascii',
    legalComments: 'none',
    target: ['chrome100', 'firefox104', 'safari15.4'],
    logLevel: 'warning',
    ...options,
  })
  return result.outputFiles[0].text.trim()
}

const sha256 = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** A closing tag or a placeholder inside the script or style would break the page. */
function requireInert(name, text) {
  const bad = /<\/(script|style)|<!--|@(policy|style|script)@/i.exec(text)
  if (bad) throw new Error(`${name} contains ${bad[0]}`)
}

const script = await bundle('src/main.tsx', {
  format: 'iife',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  define: { 'process.env.NODE_ENV': '"production"' },
})
const style = await bundle('src/style.css', {})
requireInert('the script', script)
requireInert('the style', style)

const policy = `default-src 'none'; style-src ${sha256(style)}; script-src ${sha256(script)}; ` +
  `base-uri 'none'; form-action 'none'`
const parts = { '@policy@': policy, '@style@': style, '@script@': script }
const page = readFileSync(join(here, 'src/page.html'), 'utf8')
  .replace(/@(policy|style|script)@/g, (name) => parts[name])
for (const placeholder of placeholders) {
  if (page.split(placeholder).length !== 2) throw new Error(`not exactly one ${placeholder}`)
}
writeFileSync(join(here, 'page.html'), page)
console.log(`page.html: ${page.length} bytes (script ${script.length}, style ${style.length})`)
