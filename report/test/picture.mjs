// Writes a picture of one panel of a page, for docs/report.md:
//   node test/picture.mjs PAGE.html verdict|matrix|waits|stacks|timeline OUT.png [WIDTH]
import { resolve } from 'node:path'
import { launch, open } from './pages.mjs'

const [path, panel, out, width = 960] = process.argv.slice(2)
const browser = await launch()
const { page } = await open(browser, resolve(path), { viewport: { width: Number(width), height: 800 } })
await page.locator(`#${panel}`).screenshot({ path: out })
await browser.close()
