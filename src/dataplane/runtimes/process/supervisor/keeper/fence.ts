/**
 * The newest fencing token that was seen, in the file `fence`: a server that holds an older one is refused, also by the next
 * keeper. Written in place, always as many bytes, so that a full disk is no obstacle.
 */
import fs from 'node:fs'
import path from 'node:path'
import { writeAtomically } from '../../../../../platform/files/atomic-file.ts'

/** digits of the largest bigint of Postgres */
const DIGITS = 19

export class Fence {
  readonly #file: number
  #newest: bigint

  constructor(folder: string) {
    const file = path.join(folder, 'fence')
    if (!fs.existsSync(file)) writeAtomically(file, written(0n))
    this.#file = fs.openSync(file, 'r+')
    // after a power failure it may be empty; then nobody older is left, either
    this.#newest = BigInt(/^\d+/.exec(fs.readFileSync(this.#file, 'utf8'))?.[0] ?? 0)
  }

  /** decimal */
  get newest(): string {
    return String(this.#newest)
  }

  /** Whether who holds this token is to be obeyed; from now on nobody with an older one is. Throws for what is no token. */
  admit(token: string): 'same' | 'newer' | 'stale' {
    if (!/^\d{1,19}$/.test(token)) throw new Error('No token')
    const number = BigInt(token)
    if (number < this.#newest) return 'stale'
    if (number === this.#newest) return 'same'
    fs.writeSync(this.#file, written(number), 0)
    this.#newest = number
    return 'newer'
  }
}

const written = (token: bigint) => `${String(token).padStart(DIGITS, '0')}\n`
