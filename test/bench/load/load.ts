/** Starts the load generator and sends it orders. */
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Program, start } from '../place/processes.ts'
import { ROOT } from '../place/server.ts'
import type { Load, LoadOrder, Ran } from './orders.ts'

export class Generator {
  readonly #program: Program

  constructor(folder: string) {
    const file = fileURLToPath(new URL('./generator.ts', import.meta.url))
    this.#program = start('generator', folder, [process.execPath, '--import', 'tsx', file], { cwd: ROOT, ipc: true })
  }

  prepare(id: string, load: Load): void {
    this.#tell({ do: 'load', id, load })
  }

  forget(id: string): void {
    this.#tell({ do: 'forget', id })
  }

  /** Throws with the first wrong answer. */
  async run(id: string, how: { connections: number; seconds?: number; count?: number }): Promise<Ran> {
    this.#tell({ do: 'run', id, ...how })
    const [ran] = (await once(this.#program.child, 'message')) as [Ran]
    if (ran.wrong !== null) throw new Error(`${id}: ${ran.wrong}`)
    return ran
  }

  end(): Promise<void> {
    return this.#program.end()
  }

  #tell(order: LoadOrder): void {
    this.#program.child.send(order)
  }
}
