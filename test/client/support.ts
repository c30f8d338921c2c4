/** The client and its commands against a server in this process, and a proxy that disturbs them. */
import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { onTestFinished, vi } from 'vitest'
import { exitMessage } from '../../src/app/exit-message.ts'
import { suggestions } from '../../src/cli/remote/tree.ts'
import type { Io } from '../../src/cli/terminal/io.ts'
import { run, type Tree } from '../../src/cli/terminal/run.ts'
import { COMMANDS } from '../../src/cli/tree.ts'
import { type Client, type ClientOptions, createClient } from '../../src/client/index.ts'
import type { TestApp } from '../support/app.ts'
import { startHttp } from '../support/web-server.ts'

/** A client with the admin key of workspace A. */
export const clientOf = (app: Pick<TestApp, 'url' | 'keys'>, options: Partial<ClientOptions> = {}): Client =>
  createClient({ baseUrl: app.url, apiKey: app.keys.admin, retryForMs: 20_000, ...options })

/** What the proxy does with a request: forwards it, drops its answer, or answers itself. */
export type Trouble = 'pass' | 'swallow' | { status: number; headers?: Record<string, string>; body?: string }

/**
 * An HTTP proxy in front of `target`. `plan` treats the writes in turn, then all pass; with `reads`, the reads too.
 * Returns its URL and the received requests. Ends with the test.
 */
export async function troubled(target: string, plan: Trouble[], { reads = false } = {}) {
  const seen: string[] = []
  const forward = async (request: IncomingMessage, response: ServerResponse) => {
    const trouble = (reads || request.method !== 'GET' ? plan.shift() : undefined) ?? 'pass'
    seen.push(`${request.method} ${new URL(request.url!, target).pathname}`)
    const body = await buffer(request)
    if (typeof trouble === 'object') {
      response.writeHead(trouble.status, trouble.headers).end(trouble.body)
      return
    }
    // uses node:http on a separate connection, because the client under test configures fetch
    const { method, headers } = request
    const asked = http.request(target + request.url, { method, headers, agent: false }).end(body)
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    const text = await buffer(answer)
    if (trouble === 'swallow') {
      response.destroy()
      return
    }
    const { connection: _, 'transfer-encoding': __, ...kept } = answer.headers
    response.writeHead(answer.statusCode!, kept).end(text)
  }
  const { origin, close } = await startHttp(forward)
  onTestFinished(close)
  return { url: origin, seen }
}

export interface Ran {
  code: number
  /** stdout */
  out: string
  /** stderr, including the last message */
  err: string
}

/**
 * Runs a command line like the process, and collects its output. `onLine` gets each line of progress. `terminal`: what a
 * terminal has, for example colours.
 */
export async function command(
  words: string[],
  env: Record<string, string>,
  onLine: (line: string) => void = () => {},
  terminal: Pick<Io, 'colours' | 'ask' | 'animated'> = {},
): Promise<Ran> {
  const ran: Ran = { code: 0, out: '', err: '' }
  const io = {
    env,
    ...terminal,
    out: (text: string) => {
      ran.out += text
    },
    err: (text: string) => {
      ran.err += text
      onLine(text)
    },
  }
  ran.code = await run({ tree: COMMANDS, suggestions, describe: exitMessage }, words, io)
  return ran
}

/** Runs a command of the server's machine in this process, which saves most of a second. `settings`: its environment. */
export async function serverCommand(words: string[], settings: Record<string, string>) {
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value)
  try {
    const { code, out, err } = await command(words, {})
    return { code, stdout: out, stderr: err }
  } finally {
    vi.unstubAllEnvs()
  }
}

/** Command lines of everything that runs, without arguments. */
export const linesOf = (tree: Tree): string[] =>
  Object.entries(tree).flatMap(([name, { load, commands }]) => [
    ...(load ? [name] : []),
    ...linesOf(commands ?? {}).map((line) => `${name} ${line}`),
  ])
