/** `api`: calls a path of the server with the credential of the context. */
import { Argument } from '@commander-js/extra-typings'
import { UsageError } from '../../terminal/command.ts'
import { readInput } from '../../terminal/input.ts'
import { remoteCommand, repeatable } from '../frame/call.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

export const api = remoteCommand({
  examples: [
    'api GET /v2/me',
    'api GET "/v2/deployments?limit=1" --include',
    'api PUT /v2/deployments/0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1/tags --data @tags.json',
    `api POST /graphql --data '{"query": "{ me { role } }"}'`,
  ],
  details: `Prints the body of the answer. With --json, stdout has an object with status, headers and body.
A repeated call takes effect once if it has the same Idempotency-Key: --header "Idempotency-Key: …".
Exit codes: 0 done, 1 failed, 2 invalid arguments or the server refuses a value, 3 invalid credential, 7 server unreachable.`,
  define: (command) =>
    command
      .addArgument(new Argument('<method>', 'the method').choices(METHODS))
      .argument('<path>', 'the path with its query, for example /v2/me; /docs of the server lists them')
      .option('-d, --data <json>', 'the body; @FILE reads a file, - and @- read stdin')
      .option('-H, --header <header>', 'a header NAME: VALUE; repeatable', repeatable)
      .option('-i, --include', 'print the status and the headers before the body', false),
  async work({ client, json }, [method, path], { data, header = [], include }) {
    if (!path.startsWith('/')) throw new UsageError('PATH must begin with /.')
    const body = data === undefined ? undefined : readData(data)
    if (body !== undefined && method === 'GET') throw new UsageError('A GET has no body.')
    const headers = { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headersOf(header) }
    const answer = await client.send({ method, path, body, headers })
    const text = await answer.text()
    const head = include
      ? [`HTTP ${answer.status}`, ...[...answer.headers].map(([name, value]) => `${name}: ${value}`), '']
      : []
    return {
      outcome: 'done',
      json: { status: answer.status, headers: Object.fromEntries(answer.headers), body: json ? parsed(text) : null },
      text: [...head, text.trimEnd()].join('\n'),
    }
  },
})

export function readData(data: string): string {
  const file = data === '-' ? '-' : data.startsWith('@') ? data.slice(1) : null
  return file === null ? data : readInput(file)
}

/** Throws UsageError. The message has no value, because it may be a credential. */
export function headersOf(lines: string[]): Record<string, string> {
  const pairs = lines.map((line) => /^([\w-]+): *(.*)$/.exec(line))
  if (pairs.includes(null)) throw new UsageError('--header must be NAME: VALUE.')
  return Object.fromEntries(pairs.map((pair) => [pair![1]!, pair![2]!]))
}

/** Other text, such as metrics, is a JSON string. */
export function parsed(text: string): unknown {
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
