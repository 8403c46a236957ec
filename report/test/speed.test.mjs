// Prints how fast the page is, beside an empty page in the same browser. Times do not fail a test:
// the machine may be busy.
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import test, { after, before } from 'node:test'
import { launch, open, pageOf, writePage } from './pages.mjs'
import { SAMPLES } from './samples.mjs'

let browser
before(async () => (browser = await launch()))
after(() => browser.close())

const EMPTY = '<!DOCTYPE html><html lang="en"><title>empty</title><p>empty</p></html>'

function watchTasks() {
  window.tasks = []
  // Those of loading and of the buttons are not counted.
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.tasks.push(Math.round(entry.duration))
  }).observe({ type: 'longtask' })
}

async function paintTime(path) {
  const { page, context } = await open(browser, path)
  await page.waitForFunction(() =>
    performance.getEntriesByName('first-contentful-paint').length > 0)
  const times = await page.evaluate(() => ({
    paint: Math.round(performance.getEntriesByName('first-contentful-paint')[0].startTime),
    ready: Math.round(performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd),
  }))
  await context.close()
  return times
}

/** Scrolls once a frame; the time of the longest frame, and the tasks over 50 ms. */
async function scroll(page) {
  await page.waitForTimeout(100)
  await page.evaluate(() => (window.tasks = []))
  const longest = await page.locator('#matrix .scroller').evaluate((element) =>
    new Promise((done) => {
      let [step, last, worst] = [0, performance.now(), 0]
      const next = () => {
        const now = performance.now()
        worst = Math.max(worst, now - last)
        last = now
        element.scrollTop += 97
        element.scrollLeft = (step * 31) % Math.max(1, element.scrollWidth - element.clientWidth)
        if (++step < 90) requestAnimationFrame(next)
        else done(Math.round(worst))
      }
      requestAnimationFrame(next)
    }))
  return { longest, tasks: await page.evaluate(() => window.tasks) }
}

for (const name of ['classes', 'unlike']) {
  test(`${name}: first paint and scrolling`, async (context) => {
    const path = writePage(name, pageOf(SAMPLES[name]()))
    const empty = await paintTime(writePage('empty', EMPTY))
    const full = await paintTime(path)
    const size = (statSync(path).size / 1e6).toFixed(2)
    context.diagnostic(`${size} MB: first paint ${full.paint} ms, ready ${full.ready} ms; ` +
      `empty page ${empty.paint} ms, ${empty.ready} ms`)
    const { page } = await open(browser, path)
    await page.evaluate(watchTasks)
    for (const mode of ['by class', 'by rank']) {
      await page.getByLabel(mode).check()
      for (const cells of ['usual', 'smallest']) {
        const smaller = page.getByRole('button', { name: 'Smaller cells' })
        for (let step = 0; cells === 'smallest' && step < 12; step++) await smaller.click()
        const { longest, tasks } = await scroll(page)
        context.diagnostic(`${mode}, ${cells} cells: longest frame ${longest} ms, ` +
          `tasks over 50 ms: ${tasks.join(', ') || 'none'}`)
      }
    }
    assert.ok(full.paint > 0)
  })
}
