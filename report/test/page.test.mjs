// The page in a browser, with reports of samples.mjs, and with the pages of REPORT_PAGES.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import test, { after, before } from 'node:test'
import { checkPage, exercise, readData } from './generic.mjs'
import { launch, open, pageOf, writePage } from './pages.mjs'
import { hang, SAMPLES } from './samples.mjs'

let browser
before(async () => (browser = await launch()))
after(() => browser.close())

async function withPage(path, options, check) {
  const { page, context, complaints } = await open(browser, path, options)
  try {
    await check(page)
    assert.deepEqual(complaints, [])
  } finally {
    await context.close()
  }
}

const sample = (name) => writePage(name, pageOf(SAMPLES[name]()))

const files = process.env.REPORT_PAGES
  ? readdirSync(process.env.REPORT_PAGES)
    .filter((name) => name.endsWith('.html'))
    .map((name) => [name, () => resolve(join(process.env.REPORT_PAGES, name))])
  : []
const pages = [...Object.keys(SAMPLES).map((name) => [name, () => sample(name)]), ...files]

for (const [name, path] of pages) {
  test(`${name}: the panels show the data, and nothing else happens`, () =>
    withPage(path(), {}, async (page) => {
      await checkPage(page)
      await exercise(page)
    }))

  test(`${name}: a narrow, dark window`, () =>
    withPage(path(), { viewport: { width: 360, height: 700 }, colorScheme: 'dark' }, checkPage))

  test(`${name}: without JavaScript the verdict is there`, () =>
    withPage(path(), { javaScriptEnabled: false }, async (page) => {
      assert.ok(await page.locator('#verdict-text').isVisible())
      assert.ok(await page.locator('#verdict-table').isVisible())
      assert.notEqual((await page.locator('#verdict-text').textContent()).trim(), '')
    }))
}

const widthOf = (page, selector) =>
  page.locator(selector).evaluate((element) => element.offsetWidth)

const cursorText = (page, id = 'matrix-cursor') => page.locator(`#${id}`).textContent()

async function expectCursor(page, key, pattern, id) {
  await page.keyboard.press(key)
  assert.match(await cursorText(page, id), pattern, key)
}

test('the cursor of the matrix follows the keys', () =>
  withPage(sample('hang'), {}, async (page) => {
    const start = /^rank 0, culprit, #57: is inside the call · MPI_Allreduce/
    assert.match(await cursorText(page), start)
    await page.locator('#matrix .scroller').focus()
    const below = /^rank 1, #57: is inside the call · MPI_Barrier · solver\.c:96/
    await expectCursor(page, 'ArrowDown', below)
    await expectCursor(page, 'ArrowLeft', /^rank 1, #56: called it and returned/)
    assert.match(await cursorText(page), /first arrival at .* last at .* \(rank \d\): .* apart/)
    await expectCursor(page, 'Home', /^rank 1, #1:/)
    await expectCursor(page, 'ArrowLeft', /^rank 1, #1:/)
    await expectCursor(page, 'End', /^rank 1, #57:/)
    await expectCursor(page, 'PageDown', /^rank 3, #57:/)
    await expectCursor(page, 'PageUp', /^rank 0, culprit, #57:/)
  }))

test('the size of the cells follows keys, buttons and the wheel', () =>
  withPage(sample('hang'), {}, async (page) => {
    const width = () => widthOf(page, '#matrix .content')
    const sizes = [await width()]
    await page.locator('#matrix .scroller').focus()
    await page.keyboard.press('+')
    sizes.push(await width())
    await page.getByRole('button', { name: 'Larger cells' }).click()
    sizes.push(await width())
    assert.ok(sizes[0] < sizes[1] && sizes[1] < sizes[2], sizes.join())
    await page.locator('#matrix .scroller').hover()
    await page.keyboard.down('Control')
    await page.mouse.wheel(0, 100)
    await page.keyboard.up('Control')
    await page.waitForFunction((last) =>
      document.querySelector('#matrix .content').offsetWidth < last, sizes[2])
  }))

test('the tooltip names the cell under the pointer', () =>
  withPage(sample('hang'), {}, async (page) => {
    const box = await page.locator('#matrix .scroller').boundingBox()
    await page.mouse.move(box.x + 110, box.y + 26 + 33)
    assert.match(await page.locator('.tip').textContent(), /^rank 1, #\d+: called it/)
    await page.mouse.move(2, 2)
    assert.equal(await page.locator('.tip').count(), 0)
  }))

test('16,384 members are shown by class, and by rank', () =>
  withPage(sample('unlike'), {}, async (page) => {
    assert.match(await cursorText(page), /^rank 77, culprit, #8990:/)
    await page.getByLabel('by rank').focus()
    await page.keyboard.press('ArrowRight')
    await page.getByLabel('by rank').check()
    await page.locator('#matrix .scroller').focus()
    await expectCursor(page, 'Control+End', /^rank 16383, #9000:.*did not all do the same/)
    await expectCursor(page, 'Control+Home', /^rank 0, #8601:/)
  }))

test('a communicator without calls is no damage', () => {
  const report = hang()
  const [first] = report.communicators
  const empty = { classes: [], members: [], size: 0, first: 1, last: 0, marked: null, arrivals: [] }
  report.communicators = [{ ...first, ...empty }, first]
  return withPage(writePage('uncalled', pageOf(report)), {}, async (page) => {
    assert.match(await page.locator('#matrix .empty').textContent(), /No calls are recorded on this/)
    await page.locator('#matrix fieldset').first().getByRole('radio').nth(1).check()
    assert.match(await cursorText(page), /^rank 0, culprit, #57:/)
    await page.locator('#matrix fieldset').first().getByRole('radio').first().check()
    assert.equal(await page.getByRole('alert').count(), 0)
  })
})

test('another communicator is chosen with the keyboard', () =>
  withPage(sample('hang'), {}, async (page) => {
    await page.getByLabel('MPI_COMM_WORLD ≠').focus()
    await page.keyboard.press('ArrowRight')
    assert.match(await cursorText(page), /^rank 1, #12: called it and returned/)
    assert.equal(await page.locator('#timeline .skew').count(), 0)
  }))

test('frames are reached, zoomed into and out of with the keyboard', () =>
  withPage(sample('hang'), {}, async (page) => {
    const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label'))
    await page.locator('#stacks .frame').first().focus()
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowRight']) {
      await page.keyboard.press(key)
    }
    assert.equal(await focused(), 'ExchangeHalo, solver.c:98, rank 0')
    const all = await page.locator('#stacks .frame').count()
    await page.keyboard.press('Enter')
    assert.equal(await page.locator('#stacks .frame').count(), 6)
    assert.equal(await focused(), 'ExchangeHalo, solver.c:98, rank 0')
    await page.keyboard.press('Escape')
    assert.equal(await page.locator('#stacks .frame').count(), all)
  }))

test('the search counts ranks', () =>
  withPage(sample('hang'), {}, async (page) => {
    await page.getByLabel('Find a frame').fill('exchangehalo')
    assert.equal(await page.locator('#stacks .frame.match').count(), 2)
    assert.equal(await page.locator('#stacks [role=status]').textContent(), 'in 4 ranks')
  }))

test('calls of the timeline are chosen with the keyboard', () =>
  withPage(sample('hang'), {}, async (page) => {
    const id = 'timeline-cursor'
    const start = /^rank 0, culprit · MPI_Allreduce.*inside the call since/
    assert.match(await cursorText(page, id), start)
    await page.locator('#timeline .scroller').focus()
    await expectCursor(page, 'ArrowDown', /^ranks 1-3 .*the calls of rank 1.*MPI_Barrier/, id)
    await expectCursor(page, 'Home', /MPI_Bcast/, id)
    await expectCursor(page, 'ArrowRight', /MPI_Allreduce/, id)
    const width = () => widthOf(page, '#timeline .content')
    const before = await width()
    await page.keyboard.press('+')
    assert.ok((await width()) > before)
  }))

test('the arrivals chart follows the keys', () =>
  withPage(sample('hang'), {}, async (page) => {
    await page.locator('#timeline .skew').focus()
    await expectCursor(page, 'Home', /^#1: .* apart, rank 0 last/, 'skew-cursor')
    await expectCursor(page, 'ArrowRight', /^#2: .* apart, rank 3 last/, 'skew-cursor')
  }))

test('nodes of the graph are focusable and say what they wait for', () =>
  withPage(sample('cycle'), {}, async (page) => {
    await page.locator('#waits .node').first().focus()
    const label = await page.evaluate(() => document.activeElement.getAttribute('aria-label'))
    assert.match(label, /^rank 0, .*in a cycle of waits\); waits for rank 5.*tag 1/)
    assert.equal(await page.locator('#waits .edge.active').count(), 2)
  }))

test('the page of the kind is built from its Markdown', () =>
  withPage(sample('hang'), {}, async (page) => {
    await page.locator('.kind-page > summary').first().focus()
    await page.keyboard.press('Enter')
    const prose = page.locator('#verdict > .kind-page .prose')
    for (const [tag, many] of Object.entries({ h4: 1, h5: 2, pre: 1, ul: 1, ol: 1, table: 1 })) {
      assert.equal(await prose.locator(tag).count(), many, tag)
    }
    const item = await prose.locator('ul li').first().textContent()
    assert.match(item, /number of one communicator \(#58\)\.$/)
    assert.equal(await prose.locator('strong').textContent(), 'differs')
  }))

test('the text of the command line can be copied', () =>
  withPage(sample('hang'), {}, async (page) => {
    await page.locator('.printed > summary').click()
    await page.getByRole('button', { name: 'Copy the text' }).click()
    assert.match(await page.locator('.printed [role=status]').textContent(), /copied|selected/)
    const selected = await page.evaluate(() => getSelection().toString())
    assert.match(selected, /rank 0 skipped MPI_Barrier/)
  }))

test('hostile text stays text', () =>
  withPage(sample('hostile'), {}, async (page) => {
    assert.equal(await page.locator('script').count(), 2)
    assert.equal(await page.locator('#app img').count(), 0)
    const text = await page.locator('#app').textContent()
    assert.doesNotMatch(text, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
    await page.locator('h1 .more').click()
    assert.ok((await page.locator('h1').textContent()).length > 1 << 20)
  }))

test('print unfolds what is folded, and folds it again', () =>
  withPage(sample('hang'), {}, async (page) => {
    const closed = () => page.locator('details:not([open])').count()
    const before = await closed()
    assert.ok(before > 3)
    await page.emulateMedia({ media: 'print' })
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')))
    assert.equal(await closed(), 0)
    assert.equal(await page.locator('nav').isVisible(), false)
    const position = (element) => getComputedStyle(element).position
    assert.equal(await page.locator('.top').evaluate(position), 'static')
    await page.evaluate(() => dispatchEvent(new Event('afterprint')))
    assert.equal(await closed(), before)
    assert.ok((await page.pdf()).length > 10_000)
  }))

test('a known finding is marked as such', () => {
  const report = hang()
  Object.assign(report.findings[0], { certainty: 'likely', weight: 'known' })
  return withPage(writePage('known', pageOf(report)), {}, async (page) =>
    assert.match(await page.locator('.headline').textContent(), /likely.*known: in the baseline/))
})

const BROKEN = {
  'data that are no JSON': '{"format": "rollcall-rep',
  'another format': '{"format": "other", "version": 1}',
  'another version': '{"format": "rollcall-report", "version": 2}',
  'data without fields': '{"format": "rollcall-report", "version": 1}',
  'no object': 'null',
}

for (const [name, data] of Object.entries(BROKEN)) {
  test(`${name}: a message, and the verdict as text`, () =>
    withPage(writePage('broken', pageOf(hang(), data)), {}, async (page) => {
      assert.match(await page.getByRole('alert').textContent(), /The data of this page/)
      assert.ok(await page.locator('#verdict-text').isVisible())
    }))
}

test('damaged data of one panel leave the others', () => {
  const report = { ...hang(), graph: { nodes: 7 }, difference: { left: '' } }
  return withPage(writePage('damaged', pageOf(report)), {}, async (page) => {
    assert.equal(await page.getByRole('alert').count(), 2)
    assert.ok(await page.locator('#waits').isVisible())
    assert.match(await cursorText(page), /^rank 0, culprit/)
    assert.ok(await page.locator('#verdict-text').isVisible())
    assert.equal((await readData(page)).difference.left, '')
  })
})
