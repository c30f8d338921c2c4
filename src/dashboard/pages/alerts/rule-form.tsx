/** The form for a new alert rule: what it watches, and from when on. */
import { NativeSelect, NumberInput, TextInput } from '@mantine/core'
import '@mantine/core/styles/NumberInput.css'
import type { graphql } from '../../api/graphql.ts'
import { useCommand } from '../../api/use-write.ts'
import { DialogForm, useFields } from '../../components/dialog-form.tsx'

type Kind = ReturnType<typeof graphql.scalar<'AlertKind'>>

interface KindWords {
  label: string
  /** default; null: it has none */
  threshold: number | null
  unit: string
  minutes: number | null
}

export const KINDS: Record<Kind, KindWords> = {
  rollout_failed: { label: 'The newest rollout failed', threshold: null, unit: '', minutes: null },
  not_serving: { label: 'It does not serve', threshold: null, unit: '', minutes: 5 },
  queue_stalled: { label: 'Its queue is stalled', threshold: null, unit: '', minutes: null },
  restarts: { label: 'The agent restarts', threshold: 3, unit: 'restarts', minutes: 10 },
  error_rate: { label: 'Requests fail', threshold: 5, unit: '% of the requests', minutes: 5 },
  latency_p95: { label: 'Requests are slow', threshold: 10, unit: 's (95 % are faster)', minutes: 5 },
  memory: { label: 'Memory near its limit', threshold: 90, unit: '% of the limit', minutes: 5 },
}

export function RuleForm({ onClose }: { onClose(): void }) {
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
