/**
 * `test` with a page: each has a separate context (cookies, storage) and is watched from its first address. After the
 * test there must be no fault (guards.ts), including axe-core's findings on the final page.
 */
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { test as base, expect, inject } from 'vitest'
import { launch } from './chromium.ts'
import { type Guards, guard } from './guards.ts'

export { expect }

export interface Opened {
  page: Page
  guards: Guards
}

interface Options extends BrowserContextOptions {
  /** Of another server than that of all tests. */
  origin?: string
  /** `false`: a foreign page, which axe-core skips. */
  axe?: boolean
}

interface Fixtures {
  /** Opens a page in a separate context at desktop size. */
  open(options?: Options): Promise<Opened>
  /** Such a page. */
  page: Page
  /** Its guards. */
  guards: Guards
}

let browser: Promise<Browser> | null = null
const PICTURES = fileURLToPath(new URL('pictures/', import.meta.url))
/** Time in ms within which a page must show something. */
const PATIENCE = 15_000

export const test = base.extend<Fixtures & { opened: Opened }>({
  open: async ({ task }, use) => {
    browser ??= launch()
    const running = await browser
    const pages: (Opened & { axe: boolean })[] = []
    await use(async ({ origin = inject('server').url, axe = true, ...options } = {}) => {
      const context = await running.newContext({
        baseURL: origin,
        viewport: { width: 1280, height: 800 },
        // the default would be `en-US@posix`, which is invalid
        locale: 'en-US',
        reducedMotion: 'reduce',
        ...options,
      })
      context.setDefaultTimeout(PATIENCE)
      const page = await context.newPage()
      const opened = { page, guards: await guard(page, origin) }
      pages.push({ ...opened, axe })
      return opened
    })
    const wrong = []
    for (const one of pages) {
      const { page, guards, axe } = one
      if (axe && page.url() !== 'about:blank') wrong.push(...(await guards.axe()))
      wrong.push(...guards.found())
      if (wrong.length > 0 || task.result?.state === 'fail') {
        // a picture of the failure
        const picture = `${PICTURES}failed-${task.name.replaceAll(/\W+/g, '-')}-${pages.indexOf(one)}.png`
        await page.screenshot({ path: picture }).catch(() => {})
        console.log(`The page at the end of "${task.name}": ${page.url()}\n${picture}`)
      }
      await page.context().close()
    }
    expect(wrong).toEqual([])
  },
  opened: async ({ open }, use) => use(await open()),
  page: async ({ opened }, use) => use(opened.page),
  guards: async ({ opened }, use) => use(opened.guards),
})
