/**
 * Loads Prisma's query compiler (WebAssembly; 30 MB, 100 ms of CPU) at the first query that needs it: hot reads, most
 * writes and background work are raw SQL. Uses Prisma's small variant with half the memory; compiled queries are cached, so
 * speed matters once.
 */
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { GetPrismaClientConfig } from '@prisma/client/runtime/client'

/** Prisma's JavaScript wrapper of the WebAssembly. */
type Runtime = Awaited<ReturnType<NonNullable<GetPrismaClientConfig['compilerWasm']>['getRuntime']>>
type Compiler = InstanceType<Runtime['QueryCompiler']>
type Options = ConstructorParameters<Runtime['QueryCompiler']>[0]

const PACKAGE_FOLDER = '@prisma/client/runtime'
const WRAPPER = 'query_compiler_small_bg.postgresql.js'
const BASE64 = 'query_compiler_small_bg.postgresql.wasm-base64.js'
/** Import name of the wrapper in the WebAssembly. */
const RUNTIME = './query_compiler_small_bg.js'
/** A minimal WebAssembly with only the start function, `__wbindgen_start`. */
const EMPTY = 'AGFzbQEAAAABBAFgAAADAgEABxQBEF9fd2JpbmRnZW5fc3RhcnQAAAoEAQIACw=='

const require = createRequire(import.meta.url)

/** name in a build → file of the package. A build has copies next to its programs (start/build.ts), so it needs no Prisma package. */
export const compilerFiles = (): Record<string, string> =>
  Object.fromEntries([WRAPPER, BASE64].map((name) => [builtName(name), require.resolve(`${PACKAGE_FOLDER}/${name}`)]))

/** `.cjs`: the nearest package.json declares ES modules. */
const builtName = (name: string) => name.replace(/\.js$/, '.cjs')

function locate(name: string): string {
  const built = fileURLToPath(new URL(builtName(name), import.meta.url))
  return fs.existsSync(built) ? built : require.resolve(`${PACKAGE_FOLDER}/${name}`)
}

/** Shared by all clients, which have the same schema. */
let shared: Compiler | null = null

/** Undeclared option of Prisma's client. If the compiler's files are missing, each query that needs it fails. */
export const withLazyCompiler: object = {
  __internal: {
    configOverride: (config: GetPrismaClientConfig): GetPrismaClientConfig => ({
      ...config,
      compilerWasm: {
        getRuntime: async () => ({ QueryCompiler: LazyCompiler, __wbg_set_wasm() {} }),
        getQueryCompilerWasmModule: async () => new WebAssembly.Module(Buffer.from(EMPTY, 'base64')),
        importName: RUNTIME,
      },
    }),
  },
}

class LazyCompiler implements Compiler {
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  compile(request: string) {
    return this.#with((compiler) => compiler.compile(request))
  }

  compileBatch(request: string) {
    return this.#with((compiler) => compiler.compileBatch(request))
  }

  /** No-op, because other clients share the compiler. */
  free(): void {}

  #with<T>(use: (compiler: Compiler) => T): T {
    shared ??= load(this.#options)
    try {
      return use(shared)
    } catch (error) {
      // after a crash its memory is corrupt
      if (error instanceof WebAssembly.RuntimeError) shared = null
      throw error
    }
  }
}

function load(options: Options): Compiler {
  const code = locate(BASE64)
  const bytes = Buffer.from(require(code).wasm, 'base64')
  // the base64 text is larger than the compiled code and would stay in memory
  delete require.cache[code]
  const runtime: Runtime = require(locate(WRAPPER))
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), {
    [RUNTIME]: runtime as never,
  })
  runtime.__wbg_set_wasm(exports)
  ;(exports.__wbindgen_start as () => void)()
  return new runtime.QueryCompiler(options)
}
