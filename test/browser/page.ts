/**
 * `test` with a page: each has a context of its own (cookies, storage), is watched from before its first address on, and
 * when the test is over, nothing must have been wrong (guards.ts), axe-core's say on what it shows in the end included.
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
  /** of a server that isn't the one of all tests */
  origin?: string
  /** `false`: somebody else's page, of which axe-core isn't asked */
  axe?: boolean
}

interface Fixtures {
  /** Opens a page of its own at the size of a desk. */
  open(options?: Options): Promise<Opened>
  /** Such a page. */
  page: Page
  /** What watches it. */
  guards: Guards
}

let browser: Promise<Browser> | null = null
const PICTURES = fileURLToPath(new URL('pictures/', import.meta.url))
/** What a page has to show in time, in ms. */
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
        // its own would be `en-US@posix`, which is none
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
        // what it looked like
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
