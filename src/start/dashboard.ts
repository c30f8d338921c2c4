/**
 * Builds the dashboard with Vite and stores a compressed version of each file, so the server compresses nothing. File names
 * contain a content hash: only index.html can change.
 */
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import type { InlineConfig } from 'vite'
import { CHECKOUT } from '../platform/files/checkout.ts'

const DASHBOARD = 'src/dashboard'
/** Placeholder in index.html that the server replaces with each response's nonce. */
const NONCE = '__NONCE__'
const COMPRESSIBLE = /\.(html|js|css|svg)$/
/** Files of the shell, including imports (the list of deployments). The palette and a form are loaded when opened. */
const SHELL = /src\/dashboard\/(api\/|app\/(?!palette-view|new-workspace))/
const MIN_COMPRESSED_BYTES = 512

const brotli = promisify(zlib.brotliCompress)
const gzip = promisify(zlib.gzip)

/** Used by the build and by `npm run dashboard`. */
export const viteConfig: InlineConfig = {
  configFile: false,
  root: path.join(CHECKOUT, DASHBOARD),
  logLevel: 'error',
  publicDir: false,
  html: { cspNonce: NONCE },
  oxc: { jsx: { runtime: 'automatic' } },
}

/** Builds into `folder`, which it creates. */
export async function buildDashboard(folder: string): Promise<void> {
  // loading takes a third of a second, and most builds reuse the dashboard
  const { build } = await import('vite')
  // another value, for example that of a test, makes Vite add React's development build and the paths of this machine
  process.env.NODE_ENV = 'production'
  await build({
    ...viteConfig,
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: 'baseline-widely-available',
      // keeps light-dark(): Vite's fallback for older browsers ignores the design kit's theme switch
      cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
      // allows a stricter policy without `data:`
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      chunkSizeWarningLimit: 1024,
      rolldownOptions: {
        // one file for the shell: browsers load six files in parallel
        output: { codeSplitting: { groups: [{ name: 'shell', test: SHELL, includeDependenciesRecursively: true }] } },
      },
    },
  })
  const files = (fs.readdirSync(folder, { recursive: true }) as string[]).map((name) => path.join(folder, name))
  await Promise.all(files.filter((file) => COMPRESSIBLE.test(file) && !file.endsWith('.html')).map(compress))
}

async function compress(file: string): Promise<void> {
  const text = fs.readFileSync(file)
  if (text.length < MIN_COMPRESSED_BYTES) return
  const hint = { [zlib.constants.BROTLI_PARAM_SIZE_HINT]: text.length }
  const [br, gz] = await Promise.all([brotli(text, { params: hint }), gzip(text, { level: 9 })])
  fs.writeFileSync(`${file}.br`, br)
  fs.writeFileSync(`${file}.gz`, gz)
}

/** All source files, as paths below the checkout, sorted. */
export function dashboardSources(): string[] {
  const below = fs.readdirSync(path.join(CHECKOUT, DASHBOARD), { recursive: true, withFileTypes: true })
  return below
    .filter((entry) => entry.isFile() && /\.(tsx?|css|html|svg)$/.test(entry.name))
    .map((entry) => path.relative(CHECKOUT, path.join(entry.parentPath, entry.name)))
    .sort()
}
