// Writes pictures of the samples to test/out, for a person to look at.
import { join } from 'node:path'
import { launch, open, out, pageOf, writePage } from './pages.mjs'
import { SAMPLES } from './samples.mjs'

const LOOKS = {
  light: {},
  dark: { colorScheme: 'dark' },
  narrow: { viewport: { width: 420, height: 900 } },
}

const wanted = process.argv.slice(2)
const browser = await launch()
for (const [name, make] of Object.entries(SAMPLES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const path = writePage(name, pageOf(make()))
  for (const [look, options] of Object.entries(LOOKS)) {
    const { page, context, complaints } = await open(browser, path, options)
    await page.waitForTimeout(200)
    await page.screenshot({ path: join(out, `${name}-${look}.png`), fullPage: true })
    for (const complaint of complaints) console.log(`${name} ${look}: ${complaint}`)
    await context.close()
  }
}
await browser.close()
