// Every page, at desktop size in light and at phone size in dark: the guards find nothing, and nothing overflows.
import { inject } from 'vitest'
import { expect, test } from './page.ts'
import { PAGES } from './pages.ts'
import { signIn } from './sign-in.ts'

const PLACES = [
  { where: 'at a desk, light', options: {} },
  {
    where: 'on a telephone, dark',
    options: { viewport: { width: 400, height: 800 }, colorScheme: 'dark', hasTouch: true, isMobile: true },
  },
] as const

for (const { where, options } of PLACES)
  test(`the pages are sound ${where}`, { timeout: 90_000 }, async ({ open }) => {
    const { url, key, workspaceId, ...scene } = inject('server')
    const { page, guards } = await open(options)
    await signIn(page, url, { key })
    for (const one of PAGES) {
      await one.open(page, { workspace: `/w/${workspaceId}`, ...scene })
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
      expect.soft([...guards.found(), ...(await guards.axe())], one.name).toEqual([])
      expect.soft(beyond, `${one.name}: pixels beyond its edge`).toBeLessThanOrEqual(0)
      guards.forgive()
    }
  })
