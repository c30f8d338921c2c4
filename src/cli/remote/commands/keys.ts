/** `keys list|create|revoke`: the API keys of the workspace. */
import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import type { components } from '../../../client/index.ts'
import { CommandError, formatTable } from '../../terminal/command.ts'
import { EXIT_HELP, remoteCommand } from '../frame/call.ts'
import { addLimitOption, readPages } from '../frame/pages.ts'

type ApiKey = components['schemas']['ApiKey']

export const list = remoteCommand({
  examples: ['keys list', 'keys list --json'],
  details: `Admins see all keys. Others see their own: the key of the call, and the keys of logins that they approved.\n${EXIT_HELP}`,
  define: (command) => addLimitOption(command),
  async work({ client }, _, { limit }) {
    const found = await readPages(limit, (query) => client.api.GET('/v2/keys', { params: { query } }))
    const rows = found.map((key) => [
      ...[`${key.prefix}…`, roleOf(key), stateOf(key), key.last_used_at ?? 'never', key.owner ?? '-', key.name, key.id],
    ])
    const text = formatTable([['KEY', 'ROLE', 'STATE', 'LAST USED', 'OWNER', 'NAME', 'ID'], ...rows])
    return { outcome: 'done', json: { keys: found }, text }
  },
})

const ROLES = ['viewer', 'deployer', 'admin', 'listener', 'agent', 'builder', 'caller'] as const

export const create = remoteCommand({
  examples: [
    'keys create --role deployer --name ci --expires-in-days 90',
    'export CONTROL_PLANE_API_KEY="$(pilothouse keys create --role viewer --name report --quiet)"',
  ],
  define: (command) =>
    command
      .addOption(new Option('--role <role>', 'its rights').choices(ROLES).makeOptionMandatory())
      .requiredOption('--name <name>', 'what the key is for')
      .option('--owner <owner>', 'the person or team that uses the key, shown as the author of changes')
      .option('--listener <id>', 'the listener that uses the key')
      .option('--agent <id>', 'the agent that uses the key')
      .option('--secrets-read', 'the key may read the values of secrets', false)
      .option('--expires-in-days <n>', 'when the key expires; by default never', days)
      .option('--organization', 'valid in every workspace', false),
  async work({ client, say }, _, { role, name, owner, listener, agent, ...options }) {
    const { secretsRead: secrets_read, expiresInDays, organization: organization_wide } = options
    const expires_at =
      expiresInDays === undefined ? null : new Date(Date.now() + expiresInDays * 86_400_000).toISOString()
    const { data } = await client.api.POST('/v2/keys', {
      body: {
        ...{ name, owner, role, listener_id: listener, agent_id: agent },
        ...{ secrets_read, expires_at, organization_wide },
      },
    })
    const { api_key, key } = data!
    // the answer to the first try was lost, and the text was only in it
    if (key === null)
      throw new CommandError(
        `The server created the key ${api_key.id}, but its text was lost. Run \`pilothouse keys revoke ${api_key.id}\`, then create another one.`,
      )
    say(`Created the key ${api_key.id}. Store it now; it is not shown again:`)
    return { outcome: 'done', json: { api_key, key }, text: key }
  },
})

export const revoke = remoteCommand({
  examples: ['keys revoke 0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1 --yes'],
  define: (command) => command.argument('<id>', 'an id that `keys list` shows').option('-y, --yes', 'don’t ask'),
  async work({ client, confirm }, [api_key_id], { yes }) {
    await confirm(`Revoke the key ${api_key_id}? Programs that use it stop working.`, yes)
    await client.api.DELETE('/v2/keys/{api_key_id}', { params: { path: { api_key_id } } })
    return { outcome: 'done', json: { api_key_id }, text: `Revoked ${api_key_id}.` }
  },
})

const roleOf = ({ role, secrets_read, organization_wide }: ApiKey): string =>
  `${role}${secrets_read && role !== 'admin' ? ' +secrets' : ''}${organization_wide ? ' (organization)' : ''}`

function stateOf({ revoked_at, expires_at }: ApiKey): string {
  if (revoked_at !== null) return 'revoked'
  if (expires_at === null) return 'valid'
  return `${Date.parse(expires_at) > Date.now() ? 'valid until' : 'expired'} ${expires_at}`
}

function days(text: string): number {
  const value = Number(text)
  if (value > 0 && value <= 36_500) return value
  throw new InvalidArgumentError('It must be a number of days, at most 36500.')
}
