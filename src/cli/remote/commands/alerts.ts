/** `alerts list|rules|create|delete`: the alerts of the workspace and their rules. */
import { Argument, InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { formatTable } from '../../terminal/command.ts'
import { remoteCommand, wholeNumber } from '../frame/call.ts'
import { addLimitOption, readPages } from '../frame/pages.ts'

export const list = remoteCommand({
  examples: ['alerts list --state firing'],
  define: (command) =>
    addLimitOption(
      command.addOption(
        new Option('--state <state>', 'only alerts in this state').choices(['firing', 'resolved'] as const),
      ),
    ),
  async work({ client }, _, { limit, state }) {
    const found = await readPages(limit, (page) =>
      client.api.GET('/v2/alerts', { params: { query: { ...page, state } } }),
    )
    const rows = found.map(({ fired_at, resolved_at, value, deployment_id, rule_id }) => [
      ...[fired_at, resolved_at ?? 'firing', value === null ? '-' : String(value), deployment_id, rule_id],
    ])
    const text = formatTable([['FIRED', 'RESOLVED', 'VALUE', 'DEPLOYMENT', 'RULE'], ...rows])
    return { outcome: 'done', json: { alerts: found }, text }
  },
})

export const rules = remoteCommand({
  examples: ['alerts rules', 'alerts rules --json'],
  define: (command) => addLimitOption(command),
  async work({ client }, _, { limit }) {
    const found = await readPages(limit, (query) => client.api.GET('/v2/alert-rules', { params: { query } }))
    const rows = found.map(({ name, kind, threshold, minutes, enabled, deployment_id, id }) => [
      ...[name, kind, threshold === null ? '-' : String(threshold), String(minutes)],
      ...[enabled ? 'enabled' : 'disabled', deployment_id ?? 'all', id],
    ])
    const text = formatTable([['NAME', 'KIND', 'THRESHOLD', 'MINUTES', 'STATE', 'DEPLOYMENT', 'ID'], ...rows])
    return { outcome: 'done', json: { alert_rules: found }, text }
  },
})

const KINDS = [
  'rollout_failed',
  'not_serving',
  'queue_stalled',
  'restarts',
  'error_rate',
  'latency_p95',
  'memory',
] as const

export const create = remoteCommand({
  examples: [
    'alerts create rollout_failed --name rollouts',
    'alerts create error_rate --name errors --threshold 2 --minutes 5 --deployment my-agent',
  ],
  define: (command) =>
    command
      .addArgument(new Argument('<kind>', 'what the rule watches; docs/alerts.md describes each kind').choices(KINDS))
      .requiredOption('--name <name>', 'the name of the rule, shown in messages')
      .option('--deployment <deployment>', 'the only deployment, by name or id; by default all of the workspace')
      .option('--threshold <number>', 'in the unit of the kind; by default that of the kind', number)
      .option('--minutes <n>', 'how long the condition must hold; by default that of the kind', wholeNumber(1, 60)),
  async work({ client, say }, [kind], { name, deployment, threshold, minutes }) {
    const deployment_id = deployment === undefined ? undefined : (await client.find(deployment)).id
    const { data } = await client.api.POST('/v2/alert-rules', {
      body: { name, kind, deployment_id, threshold, minutes },
    })
    say('Created the rule. Webhook endpoints get its alerts.')
    return { outcome: 'done', json: { alert_rule: data! }, text: data!.id }
  },
})

function number(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value)) return value
  throw new InvalidArgumentError('It must be a number.')
}

export const remove = remoteCommand({
  examples: ['alerts delete 0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1 --yes'],
  define: (command) =>
    command.argument('<id>', 'the id of a rule that `alerts rules` shows').option('-y, --yes', 'don’t ask'),
  async work({ client, confirm }, [alert_rule_id], { yes }) {
    await confirm(`Delete the rule ${alert_rule_id} with its alerts?`, yes)
    await client.api.DELETE('/v2/alert-rules/{alert_rule_id}', { params: { path: { alert_rule_id } } })
    return { outcome: 'done', json: { alert_rule_id }, text: `Deleted ${alert_rule_id}.` }
  },
})
