/** The alert rules of the workspace. Deployers create, switch and delete them. */
import { Badge, NativeSelect, NumberInput, Switch, TextInput } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from 'urql'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { useCommand } from '../../api/use-write.ts'
import { DialogButton } from '../../components/action-menu.tsx'
import { confirmation, DialogForm, useFields } from '../../components/dialog-form.tsx'
import { useHasRole } from '../../components/me.ts'
import { QueryView } from '../../components/page.tsx'
import { useNewEvents } from '../../components/refresh.ts'
import { Rows, RowText, Section } from './section.tsx'
import '@mantine/core/styles/NumberInput.css'

const rulesQuery = graphql(`
  query AlertRules {
    alertRules(first: 100) {
      nodes {
        id
        name
        kind
        deploymentId
        threshold
        minutes
        enabled
      }
    }
  }
`)
type Rule = ResultOf<typeof rulesQuery>['alertRules']['nodes'][number]

export function Rules() {
  const query = useQuery({ query: rulesQuery, requestPolicy: 'cache-and-network' })
  useNewEvents({ types: ['alert_rule.*'] }, () => query[1]({ requestPolicy: 'network-only' }))
  const mayWrite = useHasRole('deployer')
  const add = mayWrite && (
    <DialogButton
      size="xs"
      leftSection={<IconPlus size={16} />}
      dialog={{ title: 'New alert rule', content: (close) => <RuleForm onClose={close} /> }}
    >
      New rule
    </DialogButton>
  )
  return (
    <Section title="Rules" action={add}>
      <QueryView query={query}>
        {({ alertRules: { nodes } }) => (
          <Rows items={nodes} empty="No rules yet. A rule says when a deployment has a problem.">
            {(rule) => <RuleRow rule={rule} mayWrite={mayWrite} />}
          </Rows>
        )}
      </QueryView>
    </Section>
  )
}

function RuleRow({ rule, mayWrite }: { rule: Rule; mayWrite: boolean }) {
  const { id, name, kind, deploymentId, threshold, minutes, enabled } = rule
  const [update, busy] = useCommand('updateAlertRule')
  const { label, unit } = KINDS[kind]
  return (
    <>
      <RowText name={name}>
        {label}
        {threshold !== null && `: ${threshold} ${unit}`}
        {minutes > 0 && `, ${minutes} min`}
      </RowText>
      {deploymentId && <Badge variant="default">one deployment</Badge>}
      {!mayWrite && !enabled && <Badge color="gray">off</Badge>}
      {mayWrite && (
        <>
          <Switch
            size="xs"
            aria-label={`${name} is on`}
            checked={enabled}
            disabled={busy}
            onChange={(event) => void update({ alertRuleId: id, enabled: event.currentTarget.checked })}
          />
          <DialogButton
            size="compact-xs"
            variant="subtle"
            color="red"
            aria-label={`Delete ${name}`}
            dialog={confirmation({
              title: `Delete “${name}”?`,
              verb: 'Delete it',
              dangerous: true,
              command: 'deleteAlertRule',
              input: { alertRuleId: id },
              text: 'Its alerts are deleted, too. Switch it off to keep them.',
            })}
          >
            Delete
          </DialogButton>
        </>
      )}
    </>
  )
}

type Kind = ReturnType<typeof graphql.scalar<'AlertKind'>>

interface KindWords {
  label: string
  /** default; null: it has none */
  threshold: number | null
  unit: string
  minutes: number | null
}

/** The form for a new alert rule: what it watches, and from when on. */
const KINDS: Record<Kind, KindWords> = {
  rollout_failed: { label: 'The newest rollout failed', threshold: null, unit: '', minutes: null },
  not_serving: { label: 'It does not serve', threshold: null, unit: '', minutes: 5 },
  queue_stalled: { label: 'Its queue is stalled', threshold: null, unit: '', minutes: null },
  restarts: { label: 'The agent restarts', threshold: 3, unit: 'restarts', minutes: 10 },
  error_rate: { label: 'Requests fail', threshold: 5, unit: '% of the requests', minutes: 5 },
  latency_p95: { label: 'Requests are slow', threshold: 10, unit: 's (95 % are faster)', minutes: 5 },
  memory: { label: 'Memory near its limit', threshold: 90, unit: '% of the limit', minutes: 5 },
}

function RuleForm({ onClose }: { onClose(): void }) {
  const [create] = useCommand('createAlertRule')
  const fields = useFields('CreateAlertRuleInput', {
    initialValues: { name: '', kind: 'rollout_failed' as Kind, threshold: 5, minutes: 5 },
  })
  const { name, kind, threshold, minutes } = fields.values
  const words = KINDS[kind]
  const choose = (chosen: Kind) =>
    fields.setValues({
      kind: chosen,
      threshold: KINDS[chosen].threshold ?? threshold,
      minutes: KINDS[chosen].minutes ?? minutes,
    })
  return (
    <DialogForm<unknown>
      verb="Create"
      fields={fields}
      disabled={name.trim() === ''}
      onSubmit={() =>
        create({
          name: name.trim(),
          kind,
          threshold: words.threshold === null ? null : Number(threshold),
          minutes: words.minutes === null ? null : Number(minutes),
        })
      }
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="Messages begin with it."
        {...fields.getInputProps('name')}
        required
        withAsterisk={false}
        data-autofocus
      />
      <NativeSelect
        label="Alert when"
        data={Object.entries(KINDS).map(([value, { label }]) => ({ value, label }))}
        value={kind}
        onChange={(event) => choose(event.currentTarget.value as Kind)}
      />
      {words.threshold !== null && (
        <NumberInput label="Threshold" description={words.unit} {...fields.getInputProps('threshold')} />
      )}
      {words.minutes !== null && <NumberInput label="Minutes" {...fields.getInputProps('minutes')} />}
    </DialogForm>
  )
}
