/**
 * Prisma's compiler, a WebAssembly that makes statements of Prisma's queries, loaded when the first of them is asked for. A start,
 * hot reads, most writes and what a server does by itself are statements of ours, which Prisma sends as they are.
 * It takes 30 MB and 100 ms of CPU. Of the two that Prisma brings it is the small one, with half of the memory: what it takes
 * longer for a query it takes once, since Prisma keeps what was compiled.
 */
import { createRequire } from 'node:module'
import type { GetPrismaClientConfig } from '@prisma/client/runtime/client'

/** Prisma's JavaScript around the WebAssembly. */
type Runtime = Awaited<ReturnType<NonNullable<GetPrismaClientConfig['compilerWasm']>['getRuntime']>>
type Compiler = InstanceType<Runtime['QueryCompiler']>
type Options = ConstructorParameters<Runtime['QueryCompiler']>[0]

const FILES = '@prisma/client/runtime/query_compiler_small_bg.postgresql'
/** What the WebAssembly calls its JavaScript. */
const RUNTIME = './query_compiler_small_bg.js'
/** A WebAssembly with nothing but the function that is called when one was loaded, `__wbindgen_start`. */
const EMPTY = 'AGFzbQEAAAABBAFgAAADAgEABxQBEF9fd2JpbmRnZW5fc3RhcnQAAAoEAQIACw=='

const require = createRequire(import.meta.url)

/** One for all clients: they have the same schema. */
let shared: Compiler | null = null

/**
 * For the constructor of Prisma's client, which does not declare it. Without the compiler's files a query fails that needs it, and
 * so does the next one.
 */
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

  /** Of one client: others use it, too. */
  free(): void {}

  #with<T>(use: (compiler: Compiler) => T): T {
    shared ??= load(this.#options)
    try {
      return use(shared)
    } catch (error) {
      // it broke down, and its memory is as it was then
      if (error instanceof WebAssembly.RuntimeError) shared = null
      throw error
    }
  }
}

function load(options: Options): Compiler {
  const code = require.resolve(`${FILES}.wasm-base64.js`)
  const bytes = Buffer.from(require(code).wasm, 'base64')
  // the text is two times as large as what is made of it, and would stay
  delete require.cache[code]
  const runtime: Runtime = require(`${FILES}.js`)
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), {
    [RUNTIME]: runtime as never,
  })
  runtime.__wbg_set_wasm(exports)
  ;(exports.__wbindgen_start as () => void)()
  return new runtime.QueryCompiler(options)
}
