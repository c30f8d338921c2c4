/**
 * Takes a picture of a page: `node --import tsx test/browser/screenshot.ts URL FILE.png [--width 1280] [--height 800]
 * [--dark] [--full] [--key API_KEY | --code CODE] [--wait TEXT] [--click TEXT]... [--type TEXT] [--press KEY]`.
 * Prints console output, failed requests and axe-core findings.
 */
import { parseArgs } from 'node:util'
import { launch } from './chromium.ts'
import { guard } from './guards.ts'
import { signIn } from './sign-in.ts'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    width: { type: 'string', default: '1280' },
    height: { type: 'string', default: '800' },
    dark: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
    key: { type: 'string' },
    code: { type: 'string' },
    wait: { type: 'string' },
    click: { type: 'string', multiple: true, default: [] },
    type: { type: 'string' },
    press: { type: 'string' },
  },
})
const [url, file] = positionals
if (!url || !file) {
  process.stderr.write('Usage: node --import tsx test/browser/screenshot.ts URL FILE.png (see the top of that file)\n')
  process.exit(2)
}

const browser = await launch()
try {
  const context = await browser.newContext({
    viewport: { width: Number(options.width), height: Number(options.height) },
    colorScheme: options.dark ? 'dark' : 'light',
    locale: 'en-US',
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(10_000)
  const page = await context.newPage()
  const guards = await guard(page, new URL(url).origin)
  if (options.key || options.code) await signIn(page, new URL(url).origin, options)
  const response = await page.goto(url, { waitUntil: 'load' })
  await settle()
  if (options.wait) await page.getByText(options.wait).first().waitFor()
  for (const text of options.click) {
    await page.getByText(text).first().click()
    await settle()
  }
  if (options.type) await page.keyboard.type(options.type)
  if (options.press) await page.keyboard.press(options.press)
  await settle()
  await page.screenshot({ path: file, fullPage: options.full })
  process.stdout.write(`${response?.status()} ${page.url()}: ${await page.title()}\n`)
  for (const line of [...guards.found(), ...(await guards.axe())]) process.stdout.write(`${line}\n`)

  /** Waits until no request was sent for half a second, with a limit, because streams never end. */
  async function settle(): Promise<void> {
    await page.waitForLoadState('networkidle', { timeout: 3_000 }).catch(() => {})
  }
} finally {
  await browser.close()
}
