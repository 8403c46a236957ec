// Reads the data that the exporter put into the page and draws the panels from it.
import { render } from 'preact'
import { App } from './app'
import type { Report } from './data'
import { makeVisible, visible } from './text'
import { showStatic } from './widgets'

/** The report, or why there is none. */
function readReport(): Report | string {
  const element = document.getElementById('report-data')
  if (!element) return 'This page holds no data.'
  try {
    const report = JSON.parse(element.textContent ?? '') as Report
    if (report?.format !== 'rollcall-report') return 'The data of this page are not a report.'
    if (report.version !== 1) return 'The data of this page have another version than the page.'
    return makeVisible(report) as Report
  } catch {
    return 'The data of this page are damaged or incomplete.'
  }
}

/** Print shows what is folded; afterwards the page is as it was. */
function unfoldForPrint(): void {
  let opened: HTMLDetailsElement[] = []
  addEventListener('beforeprint', () => {
    opened = [...document.querySelectorAll<HTMLDetailsElement>('details:not([open])')]
    for (const details of opened) details.open = true
  })
  addEventListener('afterprint', () => {
    for (const details of opened) details.open = false
  })
}

function showProblem(root: HTMLElement, problem: string): void {
  showStatic(true)
  const rest = 'What the command line prints is above.'
  render(<p class="no-data" role="alert">{problem} {rest}</p>, root)
}

function start(): void {
  const root = document.getElementById('app')!
  const report = readReport()
  if (typeof report === 'string') return showProblem(root, report)
  const text = visible(document.getElementById('verdict-text')?.textContent ?? '')
  showStatic(false)
  try {
    render(<App report={report} text={text} />, root)
  } catch {
    render(null, root)
    return showProblem(root, 'The data of this page are damaged.')
  }
  unfoldForPrint()
}

start()
