/** Input and output of a command: the process's or a test's. Opens URLs in the person's browser. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline/promises'
import manifest from '../../../package.json' with { type: 'json' }

export interface Io {
  env: Record<string, string | undefined>
  out(text: string): void
  err(text: string): void
  /** default: no colours */
  colours?: { out: boolean; err: boolean }
  /** Asks a person. Undefined: no terminal. */
  ask?: (question: string) => Promise<string>
  /** stderr can show a line that changes. */
  animated?: boolean
  /** Ends the process on SIGINT (130) and SIGTERM (143). */
  leaveOnSignals?: () => void
}

export function processIo(): Io {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', leaveOnClosedPipe)
  return {
    env: process.env,
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    colours: { out: showsColours(process.stdout), err: showsColours(process.stderr) },
    ...(process.stdin.isTTY && process.stderr.isTTY && { ask }),
    animated: process.stderr.isTTY && process.env.TERM !== 'dumb',
    leaveOnSignals,
  }
}

/** The reader has ended, as in `pilothouse events -f | head`. 141 is the exit code of SIGPIPE, which Node ignores. */
function leaveOnClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  process.exit(141)
}

/** Respects NO_COLOR. */
const showsColours = (stream: NodeJS.WriteStream): boolean => stream.isTTY && stream.hasColors()

async function ask(question: string): Promise<string> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  prompt.once('SIGINT', () => process.exit(130))
  // Ctrl-D ends the input without an answer
  const closed = new Promise<string>((resolve) => void prompt.once('close', () => resolve('')))
  try {
    return await Promise.race([prompt.question(question), closed])
  } finally {
    prompt.close()
  }
}

function leaveOnSignals(): void {
  process.once('SIGINT', () => process.exit(130))
  process.once('SIGTERM', () => process.exit(143))
}

/** `BROWSER` names the program, otherwise the desktop decides. A failure is ignored, because the caller also prints the URL. */
export function openBrowser(url: string, env: Record<string, string | undefined>): void {
  const [program, ...words] = env.BROWSER ? [env.BROWSER] : (DESKTOP[process.platform] ?? ['xdg-open'])
  const browser = spawn(program!, [...words, url], { detached: true, stdio: 'ignore' })
  browser.on('error', () => undefined)
  browser.unref()
}

const DESKTOP: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** The version of this command line: that of the package. */
export const VERSION: string = manifest.version
