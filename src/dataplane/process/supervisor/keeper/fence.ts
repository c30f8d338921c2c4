/**
 * Stores the newest fencing token seen, in the file `fence`, so that the next keeper also refuses older tokens.
 * Writes in place with a fixed length, because that works on a full disk.
 */
import fs from 'node:fs'
import path from 'node:path'
import { writeAtomically } from '../../../../platform/files/atomic-file.ts'

/** digits of the largest bigint of Postgres */
const DIGITS = 19

export class Fence {
  readonly #file: number
  #newest: bigint

  constructor(folder: string) {
    const file = path.join(folder, 'fence')
    if (!fs.existsSync(file)) writeAtomically(file, written(0n))
    this.#file = fs.openSync(file, 'r+')
    // the file may be empty after a power failure; servers with older tokens are then gone, too
    this.#newest = BigInt(/^\d+/.exec(fs.readFileSync(this.#file, 'utf8'))?.[0] ?? 0)
  }

  /** decimal */
  get newest(): string {
    return String(this.#newest)
  }

  /** Compares a token with the newest one, and stores it if it is newer. Throws on an invalid token. */
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
