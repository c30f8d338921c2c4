/** `call`: sends a request to a deployment's agent, with the credential of the context. */
import { agentUrl } from '../../../client/find.ts'
import type { Deployment } from '../../../client/index.ts'
import { CommandError, UsageError } from '../../terminal/command.ts'
import { remoteCommand, repeatable } from '../frame/call.ts'
import { headersOf, parsed, readData } from './api.ts'

export const call = remoteCommand({
  examples: [
    'call my-agent /ok',
    `call my-agent /runs/stream -H "Content-Type: application/json" -d '{"input": "hello"}'`,
    'call my-agent / -X DELETE --json',
  ],
  details: `Prints the body as it arrives. With --json, stdout has an object with status, headers and body. The API key is sent in
X-Api-Key, except to a public deployment and to an address that a custom_url names. Redirects are not followed.
Exit codes: 0 done, 1 the agent answers 400 or more, or not at all, 2 invalid arguments, 3 invalid credential, 7 server unreachable.`,
  define: (command) =>
    command
      .argument('<deployment>', 'by name or id')
      .argument('<path>', 'the path with its query, for example /ok')
      .option('-X, --request <method>', 'the method; by default GET, with a body POST')
      .option('-H, --header <header>', 'a header NAME: VALUE; repeatable', repeatable)
      .option('-d, --data <text>', 'the body; @FILE reads a file, - and @- read stdin'),
  async work({ client, connection, json, print, say }, [nameOrId, path], { request, header = [], data }) {
    if (!path.startsWith('/')) throw new UsageError('PATH must begin with /.')
    const deployment = await client.find(nameOrId)
    const target = targetOf(deployment, path)
    const body = data === undefined ? undefined : readData(data)
    const method = request?.toUpperCase() ?? (body === undefined ? 'GET' : 'POST')
    const headers = new Headers(headersOf(header))
    if (sendsKey(deployment) && !headers.has('x-api-key')) headers.set('x-api-key', connection.key)
    const answer = await fetch(target, { method, headers, body, redirect: 'manual' }).catch((error) => {
      throw new CommandError(`${deployment.name} does not answer at ${target.origin}: ${reasonOf(error)}`)
    })
    const { status } = answer
    const isOk = status < 400
    if (!isOk) say(`${deployment.name} answered ${status}.`)
    const result = { outcome: isOk ? 'done' : 'failed', text: '' } as const
    if (json) {
      const content = { headers: Object.fromEntries(answer.headers), body: parsed(await answer.text()) }
      return { ...result, json: { status, ...content } }
    }
    await printLines(answer, print)
    return { ...result, json: null }
  },
})

/** Below the agent's address, which is the only place that gets the key: `/..` must not lead to another agent's path. */
function targetOf({ name, url, why_not_live }: Deployment, path: string): URL {
  if (url === null) throw new CommandError(`${name} has no address. ${why_not_live ?? ''}`.trim())
  const base = agentUrl(url).replace(/\/$/, '')
  const target = new URL(base + path)
  if (target.href.startsWith(`${new URL(`${base}/`).href}`)) return target
  throw new UsageError(`PATH must stay below ${base}/.`)
}

/** A public agent may be reached without a door, which would pass the key on. A deployer chooses the host of a custom_url. */
const sendsKey = ({ access, source, source_config }: Deployment): boolean =>
  access !== 'public' && (source !== 'external_container' || source_config.custom_url == null)

/** Prints each line when it arrives. */
async function printLines({ body }: Response, print: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop()!
    for (const line of lines) print(line)
  }
  rest += decoder.decode()
  if (rest !== '') print(rest)
}

const reasonOf = (error: Error): string => (error.cause instanceof Error ? error.cause.message : error.message)
