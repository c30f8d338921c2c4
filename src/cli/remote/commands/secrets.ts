/** `secrets list|set|unset|import`: secrets of a deployment. Values never come from the command line, which other users can see. */
import type { Command, OptionValues } from '@commander-js/extra-typings'
import type { Deployment } from '../../../client/index.ts'
import { formatTable, type Result, UsageError } from '../../terminal/command.ts'
import { readInput } from '../../terminal/input.ts'
import { describeChanges, readSecrets, readSecretsFile, secretChanges, secretsBody } from '../deploy/secrets.ts'
import { type RemoteCall, remoteCommand } from '../frame/call.ts'
import { addRolloutOptions, type RolloutOptions, rolloutResult, WAIT_DETAILS } from '../frame/follow.ts'

export const list = remoteCommand({
  examples: ['secrets list my-agent', 'secrets list my-agent --json'],
  define: (command) => command.argument('<deployment>', 'by name or id'),
  async work({ client, say }, [nameOrId]) {
    const { id } = await client.find(nameOrId)
    const params = { path: { deployment_id: id } }
    const { data } = await client.api.GET('/v2/deployments/{deployment_id}/secrets', { params })
    const secrets = data!.resources
    if (secrets.length === 0) say('The deployment has no secrets.')
    const rows = secrets.map(({ name, set_at, set_by }) => [name, set_at ?? '-', set_by?.name ?? '-'])
    const text = rows.length === 0 ? '' : formatTable([['NAME', 'SET', 'BY'], ...rows])
    return { outcome: 'done', json: { deployment_id: id, secrets }, text }
  },
})

export const set = remoteCommand({
  examples: [
    'secrets set my-agent OPENAI_API_KEY',
    'secrets set my-agent SERVICE_ACCOUNT --from-file account.json',
    'pass show openai | pilothouse secrets set my-agent OPENAI_API_KEY --from-file -',
  ],
  details: `Each value comes from the environment variable of the same name. Other secrets stay.\n${WAIT_DETAILS}`,
  define: (command) =>
    addChangeOptions(
      command
        .argument('<deployment>', 'by name or id')
        .argument('<secrets...>', 'names of secrets')
        .option('--from-file <file>', 'the value of a single secret, without its last line break; - is stdin'),
    ),
  async work(call, [nameOrId, names], options) {
    const deployment = await call.client.find(nameOrId)
    return change(call, deployment, { values: valuesOf(names, options.fromFile, call.env) }, options)
  },
})

export const unset = remoteCommand({
  examples: ['secrets unset my-agent OLD_TOKEN --yes'],
  details: WAIT_DETAILS,
  define: (command) =>
    addChangeOptions(command.argument('<deployment>', 'by name or id').argument('<secrets...>', 'names of secrets')),
  async work(call, [nameOrId, names], options) {
    return change(call, await call.client.find(nameOrId), { unset: names }, options)
  },
})

export const importFile = remoteCommand({
  examples: ['secrets import my-agent .env', 'vault-export | pilothouse secrets import my-agent - --yes'],
  details: `The file has lines NAME=value. Other secrets stay.\n${WAIT_DETAILS}`,
  define: (command) =>
    addChangeOptions(
      command.argument('<deployment>', 'by name or id').argument('<file>', 'lines NAME=value; - is stdin'),
    ),
  async work(call, [nameOrId, file], options) {
    const deployment = await call.client.find(nameOrId)
    const values = readSecretsFile(file)
    if (values.size === 0) throw new UsageError(`${file} has no lines NAME=value.`)
    return change(call, deployment, { values }, options)
  },
})

type ChangeOptions = RolloutOptions & { yes?: true }

const addChangeOptions = <A extends unknown[], O extends OptionValues>(command: Command<A, O>) =>
  addRolloutOptions(command.option('-y, --yes', 'don’t ask') as Command<A, O & { yes?: true }>)

/** Throws UsageError. No message contains a value. */
function valuesOf(names: string[], file: string | undefined, env: RemoteCall['env']): Map<string, string> {
  if (names.some((name) => name.includes('=')))
    throw new UsageError('Pass only names. Set each value in the environment variable of the same name.')
  if (file === undefined) return readSecrets({ secret: names }, env)
  if (names.length > 1) throw new UsageError('--from-file has the value of one secret.')
  return new Map([[names[0]!, readInput(file).replace(/\r?\n$/, '')]])
}

/** Shows the names, asks on a terminal, and changes the secrets in one revision. A removal always needs a yes. */
async function change(
  call: RemoteCall,
  deployment: Deployment,
  { values = new Map(), unset = [] }: { values?: Map<string, string>; unset?: string[] },
  options: ChangeOptions,
): Promise<Result> {
  const { client, say, confirm, interactive } = call
  const { name } = deployment
  const changes = secretChanges(deployment, values, unset)
  say(`${name}: secrets\n${describeChanges(changes)}`)
  if (interactive || unset.length > 0) await confirm(`Change these secrets of ${name}?`, options.yes)
  const { data, response } = await client.api.PATCH('/v2/deployments/{deployment_id}/secrets', {
    params: { path: { deployment_id: deployment.id } },
    body: secretsBody(changes, values)!,
  })
  const result = await rolloutResult(call, options, data!, response.headers.get('x-revision-id'))
  return { ...result, json: { ...result.json, secrets: changes } }
}
