/**
 * `npm run screenshots`: a picture of each page, light and dark, wide and narrow, in `test/browser/pictures` (ignored
 * by git); the README's two go to `docs/pictures`. Arguments select pages. Prints the guards' findings.
 */
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { launch } from './chromium.ts'
import { guard } from './guards.ts'
import { PAGES, type Shown } from './pages.ts'
import { type Scene, setScene } from './scene.ts'
import { type OwnServer, ownServer } from './server.ts'
import { signIn } from './sign-in.ts'

const PICTURES = fileURLToPath(new URL('pictures/', import.meta.url))
const OF_README = fileURLToPath(new URL('../../docs/pictures/', import.meta.url))
const WIDTHS = { wide: { width: 1280, height: 800 }, narrow: { width: 400, height: 800 } }
const SCHEMES = ['light', 'dark'] as const

const wanted = process.argv.slice(2)
const pages = wanted.length === 0 ? PAGES : PAGES.filter(({ name }) => wanted.includes(name))
mkdirSync(PICTURES, { recursive: true })
mkdirSync(OF_README, { recursive: true })
const server = await ownServer()
try {
  const scene = await setScene(server)
  for (const scheme of SCHEMES)
    for (const [width, viewport] of Object.entries(WIDTHS)) await shoot(server, scene, scheme, width, viewport)
} finally {
  await server.close()
}

/** All pages in one size and scheme, one after the other in one tab. */
async function shoot(
  { url, key, workspaceId }: OwnServer,
  scene: Scene,
  colorScheme: (typeof SCHEMES)[number],
  width: string,
  viewport: { width: number; height: number },
): Promise<void> {
  const browser = await launch()
  try {
    const context = await browser.newContext({
      baseURL: url,
      viewport,
      colorScheme,
      locale: 'en-US',
      reducedMotion: 'reduce',
    })
    context.setDefaultTimeout(15_000)
    const page = await context.newPage()
    const guards = await guard(page, url)
    await signIn(page, url, { key })
    for (const { name, open, readme } of pages) {
      await open(page, { workspace: `/w/${workspaceId}`, ...scene } satisfies Shown)
      await page.waitForLoadState('networkidle', { timeout: 2_000 }).catch(() => {})
      const file = `${name}-${width}-${colorScheme}.png`
      await page.screenshot({ path: PICTURES + file })
      if (readme === `${width}-${colorScheme}`) await page.screenshot({ path: `${OF_README}${name}.png` })
      const wrong = [...guards.found(), ...(await guards.axe())]
      guards.forgive()
      process.stdout.write([file, ...wrong.map((line) => `  ${line}`), ''].join('\n'))
    }
  } finally {
    await browser.close()
  }
}
