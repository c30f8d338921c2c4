/**
 * Measures the deployment list in a browser while deployments move; test/bench/others/dashboard.ts starts it:
 * `node --import tsx test/browser/bench.ts URL API_KEY WORKSPACE_ID SECONDS` scrolls, types, then watches for SECONDS.
 * Prints `BrowserFigures` as one line of JSON.
 */
import type { CDPSession, Page } from 'playwright-core'
import { launch } from './chromium.ts'
import { guard } from './guards.ts'
import { signIn } from './sign-in.ts'

/** Times in ms, memory in MB. */
export interface BrowserFigures {
  /** From the address to the first row, signed in. */
  firstRow: number
  /** The longest tasks of the page's main thread during scrolling and typing: by the clock, and by CPU. */
  longest: { clock: number; cpu: number }
  /** Number of these tasks over 50 ms, by the clock. */
  over50: number
  /** The heap after garbage collection, every `every` seconds, and the number of document nodes at that time. */
  looks: { heap: number; nodes: number }[]
  every: number
  /** Rows that changed while it watched. */
  changes: number
  /** Findings of the guards. */
  wrong: string[]
}

const [url, key, workspace, seconds] = process.argv.slice(2) as [string, string, string, string]
/** Interval in ms between two measurements of the heap. */
const LOOKS = 15_000
const WHEELS = 150
const TYPED = 'billing-agent-12'

const browser = await launch()
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  page.setDefaultTimeout(30_000)
  const guards = await guard(page, url)
  await signIn(page, url, { key })
  const began = performance.now()
  await page.goto(`${url}/w/${workspace}/deployments`)
  await rows(page).first().waitFor()
  const firstRow = performance.now() - began

  // records every task of the main thread with its duration
  await browser.startTracing(page, { categories: ['disabled-by-default-devtools.timeline'] })
  await scrollAndType(page)
  const tasks = mainTasks(JSON.parse((await browser.stopTracing()).toString()))

  const cdp = await page.context().newCDPSession(page)
  const looks = [await lookAt(cdp)]
  await countChanges(page)
  for (const until = performance.now() + Number(seconds) * 1000; performance.now() < until; ) {
    await page.waitForTimeout(LOOKS)
    looks.push(await lookAt(cdp))
  }
  const figures: BrowserFigures = {
    firstRow,
    longest: { clock: Math.max(...tasks.map(({ clock }) => clock)), cpu: Math.max(...tasks.map(({ cpu }) => cpu)) },
    over50: tasks.filter(({ clock }) => clock > 50).length,
    looks,
    every: LOOKS / 1000,
    changes: await page.evaluate(() => (window as unknown as { changes: number }).changes),
    wrong: guards.found(),
  }
  process.stdout.write(`${JSON.stringify(figures)}\n`)
} finally {
  await browser.close()
}

function rows(page: Page) {
  return page.getByRole('row').filter({ hasText: '-agent-' })
}

/** Acts like a person who searches: scrolls down, up, and types a name. */
async function scrollAndType(page: Page): Promise<void> {
  await page.mouse.move(640, 500)
  for (let at = 0; at < WHEELS; at++) {
    await page.mouse.wheel(0, at < WHEELS * 0.7 ? 700 : -1200)
    await page.waitForTimeout(30)
  }
  const search = page.getByLabel('Search by name')
  await search.click()
  for (const character of TYPED) await page.keyboard.type(character, { delay: 90 })
  await page.waitForTimeout(500)
  for (const _ of TYPED) await page.keyboard.press('Backspace', { delay: 60 })
  await page.waitForTimeout(500)
}

interface Traced {
  name: string
  ph: string
  pid: number
  tid: number
  dur?: number
  tdur?: number
  args?: { name?: string }
}

/** The busiest renderer process, which is the page's. */
function mainTasks({ traceEvents }: { traceEvents: Traced[] }): { clock: number; cpu: number }[] {
  const threads = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  )
  const byThread = new Map<string, { clock: number; cpu: number }[]>()
  for (const { name, ph, pid, tid, dur = 0, tdur = 0 } of traceEvents) {
    const thread = `${pid} ${tid}`
    if (ph !== 'X' || name !== 'RunTask' || !threads.has(thread)) continue
    const tasks = byThread.get(thread) ?? []
    tasks.push({ clock: dur / 1000, cpu: tdur / 1000 })
    byThread.set(thread, tasks)
  }
  const [busiest] = [...byThread.values()].sort((a, b) => b.length - a.length)
  if (!busiest) throw new Error('the trace has no task of a page')
  return busiest
}

async function lookAt(cdp: CDPSession): Promise<BrowserFigures['looks'][number]> {
  await cdp.send('HeapProfiler.collectGarbage')
  const { usedSize } = await cdp.send('Runtime.getHeapUsage')
  const { nodes } = await cdp.send('Memory.getDOMCounters')
  return { heap: usedSize / 1e6, nodes }
}

async function countChanges(page: Page): Promise<void> {
  await page.evaluate(() => {
    const counting = window as unknown as { changes: number }
    counting.changes = 0
    new MutationObserver((records) => {
      counting.changes += records.length
    }).observe(document.body, { subtree: true, childList: true, characterData: true })
  })
}
