/**
 * The dashboard's part of a build: what Vite makes of `src/dashboard`, and beside each file of it the same compressed, so that
 * no server compresses anything. Names have a hash of what is in them: only index.html can change.
 */
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import type { InlineConfig } from 'vite'
import { CHECKOUT } from '../platform/files/checkout.ts'

const DASHBOARD = 'src/dashboard'
/** Stands in index.html where the server puts the nonce of each answer. */
const NONCE = '__NONCE__'
const COMPRESSIBLE = /\.(html|js|css|svg)$/
/** Files of the shell, with all that they import, as the list of deployments. The palette is loaded when it is opened. */
const SHELL = /src\/dashboard\/(api\/|app\/(?!palette-view))/
/** bytes below which it isn't worth it */
const MIN_COMPRESSED_BYTES = 512

const brotli = promisify(zlib.brotliCompress)
const gzip = promisify(zlib.gzip)

/** For a build, and for `npm run dashboard`. */
export const viteConfig: InlineConfig = {
  configFile: false,
  root: path.join(CHECKOUT, DASHBOARD),
  logLevel: 'error',
  publicDir: false,
  html: { cspNonce: NONCE },
  oxc: { jsx: { runtime: 'automatic' } },
}

/** Into `folder`, which is made. */
export async function buildDashboard(folder: string): Promise<void> {
  // takes a third of a second to load, and most builds have a dashboard already
  const { build } = await import('vite')
  await build({
    ...viteConfig,
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: 'baseline-widely-available',
      // light-dark() as it is: what is made of it for older browsers does not know the kit's way of choosing
      cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
      // a policy without `data:` is the stricter one
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      chunkSizeWarningLimit: 1024,
      rolldownOptions: {
        // what the shell needs is one file: browsers load six at a time
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

/** Every file that it is made of, as paths below the checkout, sorted. */
export function dashboardSources(): string[] {
  const below = fs.readdirSync(path.join(CHECKOUT, DASHBOARD), { recursive: true, withFileTypes: true })
  return below
    .filter((entry) => entry.isFile() && /\.(tsx?|css|html|svg)$/.test(entry.name))
    .map((entry) => path.relative(CHECKOUT, path.join(entry.parentPath, entry.name)))
    .sort()
}
