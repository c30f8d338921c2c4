/** The alert rules of the workspace. Deployers create, switch and delete them. */
import { Badge, Switch } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from 'urql'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { useCommand } from '../../api/use-write.ts'
import { DialogButton } from '../../components/action-menu.tsx'
import { confirmation } from '../../components/dialog-form.tsx'
import { useHasRole } from '../../components/me.ts'
import { QueryView } from '../../components/page.tsx'
import { useNewEvents } from '../../components/refresh.ts'
import { KINDS, RuleForm } from './rule-form.tsx'
import { Rows, RowText, Section } from './section.tsx'

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
