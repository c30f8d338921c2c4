/** One line on a terminal's stderr that shows what the command waits for. Elsewhere it shows nothing. */
import type { Io } from './io.ts'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_INTERVAL_MS = 80
const CLEAR_LINE = '\r\u001b[K'

export class Spinner {
  readonly #io: Io
  readonly #active: boolean
  #text = ''
  #since = 0
  #frame = 0
  #timer: NodeJS.Timeout | undefined

  constructor(io: Io, silent: boolean) {
    this.#io = io
    this.#active = io.animated === true && !silent
  }

  /** null: removes the line. */
  show(text: string | null): void {
    if (!this.#active) return
    if (text !== null) {
      if (text !== this.#text) this.#since = performance.now()
      this.#text = text
      this.#timer ??= setInterval(() => this.#draw(), FRAME_INTERVAL_MS).unref()
      this.#draw()
    } else if (this.#timer) {
      clearInterval(this.#timer)
      this.#timer = undefined
      this.#text = ''
      this.#io.err(CLEAR_LINE)
    }
  }

  /** Prints above the line. */
  above(print: () => void): void {
    if (this.#timer) this.#io.err(CLEAR_LINE)
    print()
    if (this.#timer) this.#draw()
  }

  #draw(): void {
    const seconds = Math.floor((performance.now() - this.#since) / 1000)
    this.#io.err(
      `${CLEAR_LINE}${FRAMES[this.#frame++ % FRAMES.length]} ${this.#text}${seconds > 0 ? ` ${seconds} s` : ''}`,
    )
  }
}
