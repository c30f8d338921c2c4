/**
 * Starts the Chromium of the tests: the program of @sparticuz/chromium (without its arguments, which disable web
 * security), or CHROMIUM_PATH. Fonts come from packages, so pictures look the same on every machine.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium as playwright } from 'playwright-core'

const require = createRequire(import.meta.url)
const HERE = fileURLToPath(new URL('.', import.meta.url))
const MODULES = path.join(HERE, 'node_modules')
const PACKAGE = path.join(MODULES, '@sparticuz/chromium')
/** The font families for names in style sheets, and their files. */
const FAMILIES = { 'sans-serif': 'Inter', 'system-ui': 'Inter', monospace: 'JetBrains Mono' }
const FONTS = [
  require.resolve('@expo-google-fonts/inter/package.json'),
  require.resolve('@expo-google-fonts/jetbrains-mono/package.json'),
  // characters that the others lack: arrows, check marks
  require.resolve('dejavu-fonts-ttf/package.json'),
].map((file) => path.dirname(file))

/** Starts it. Throws with instructions if it can't run. */
export async function launch(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM_PATH || (await unpacked())
  try {
    return await playwright.launch({
      executablePath,
      env: { ...process.env, FONTCONFIG_FILE: fontsFile() },
      // the same glyphs with and without a screen
      args: ['--font-render-hinting=none'],
    })
  } catch (error) {
    throw new Error(advice(String(error)))
  }
}

/** Instructions for a browser that did not start. */
function advice(said: string): string {
  const library = /error while loading shared libraries: ([^:]+)/.exec(said)?.[1]
  if (library)
    return `Chromium needs ${library}: on Debian and Ubuntu "apt-get install libnss3" brings it. Or name another Chromium in CHROMIUM_PATH.`
  if (/ENOEXEC|EACCES|Exec format|cannot execute/.test(said))
    return `The Chromium of @sparticuz/chromium runs on Linux on x64. Name another one in CHROMIUM_PATH.\n${said}`
  return said
}

/**
 * Path of the program, unpacked at the first call. The package would use any file at /tmp/chromium, even one that
 * another process is writing. So it gets a separate folder, which is renamed when it is complete.
 */
async function unpacked(): Promise<string> {
  const { version } = JSON.parse(readFileSync(path.join(PACKAGE, 'package.json'), 'utf8')) as { version: string }
  const folder = path.join(MODULES, '.chromium', version)
  if (existsSync(folder)) return path.join(folder, 'chromium')
  const making = `${folder}.${process.pid}`
  mkdirSync(making, { recursive: true })
  const { TMPDIR } = process.env
  process.env.TMPDIR = making
  try {
    await (await import('@sparticuz/chromium')).default.executablePath()
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  }
  try {
    renameSync(making, folder)
  } catch (error) {
    // another run was faster
    if (!existsSync(folder)) throw error
    rmSync(making, { recursive: true })
  }
  return path.join(folder, 'chromium')
}

/** Writes a fontconfig configuration with only the packaged fonts, and returns its path. */
function fontsFile(): string {
  const folder = path.join(MODULES, '.fonts')
  mkdirSync(folder, { recursive: true })
  const aliases = Object.entries(FAMILIES).map(
    ([name, family]) =>
      `<alias binding="same"><family>${name}</family><prefer><family>${family}</family></prefer></alias>`,
  )
  const file = path.join(folder, 'fonts.conf')
  const making = `${file}.${process.pid}`
  writeFileSync(
    making,
    `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
${FONTS.map((folder) => `<dir>${folder}</dir>`).join('\n')}
<cachedir>${path.join(folder, 'cache')}</cachedir>
${aliases.join('\n')}
</fontconfig>
`,
  )
  renameSync(making, file)
  return file
}
