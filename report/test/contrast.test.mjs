// Contrast of text, in both colour schemes: at least 4.5 to 1, as WCAG AA asks.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { launch, open, pageOf, writePage } from './pages.mjs'
import { hang } from './samples.mjs'

let browser
before(async () => (browser = await launch()))
after(() => browser.close())

function luminance([red, green, blue]) {
  const [r, g, b] = [red, green, blue].map((value) => {
    const part = value / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function ratio(a, b) {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x)
  return (light + 0.05) / (dark + 0.05)
}

/** Colour and background of each element that has text of its own. */
function readColours() {
  const parse = (colour) => colour.match(/[\d.]+/g).map(Number)
  const background = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor)
      if (colour.length < 4 || colour[3] === 1) return colour
    }
    return [255, 255, 255]
  }
  for (const details of document.querySelectorAll('details')) details.open = true
  return [...document.querySelectorAll('body *')]
    .filter((element) => [...element.childNodes].some((node) =>
      node.nodeType === 3 && node.data.trim() && element.getClientRects().length > 0))
    .map((element) => {
      const style = getComputedStyle(element)
      const isSvg = element instanceof SVGElement
      const shape = isSvg && element.closest('.node')?.querySelector('rect, ellipse')
      return {
        name: `${element.tagName} ${element.className?.baseVal ?? element.className}`,
        colour: parse(isSvg ? style.fill : style.color),
        back: shape ? parse(getComputedStyle(shape).fill) : background(element),
        disabled: element.closest(':disabled') !== null,
      }
    })
}

/** Pairs of colours that the canvases put on top of each other. */
const CANVAS = [
  ...Array.from({ length: 8 }, (_, index) => ['--ink', `--fill-${index}`]),
  ['--inside-ink', '--inside'],
  ['--muted', '--panel'],
  ['--culprit', '--panel'],
  ['--ink', '--lost'],
]

function readProperties(names) {
  const style = getComputedStyle(document.documentElement)
  return Object.fromEntries(names.map((name) => {
    const digits = style.getPropertyValue(name).trim().slice(1)
    return [name, digits.match(/../g).map((pair) => parseInt(pair, 16))]
  }))
}

for (const colorScheme of ['light', 'dark']) {
  test(`text is readable, ${colorScheme}`, async () => {
    const path = writePage('contrast', pageOf(hang()))
    const { page } = await open(browser, path, { colorScheme })
    const texts = await page.evaluate(readColours)
    assert.ok(texts.length > 200)
    for (const { name, colour, back, disabled } of texts) {
      const found = ratio(colour, back)
      assert.ok(disabled || found >= 4.5, `${name}: ${found.toFixed(2)} ${colour} on ${back}`)
    }
    const colours = await page.evaluate(readProperties, CANVAS.flat())
    for (const [text, back] of CANVAS) {
      const found = ratio(colours[text], colours[back])
      assert.ok(found >= 4.5, `${text} on ${back}: ${found.toFixed(2)}`)
    }
  })
}
