/** The section that says who may call the agent. A choice applies immediately, without the save bar. */
import { NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { formError, type Problem } from '../../api/problem.ts'
import { useCommand } from '../../api/use-write.ts'
import type { Settings } from './documents.ts'
import { Section } from './section.tsx'
import { useEditor } from './use-editor.ts'

type Access = Settings['access']

const CHOICES: Record<Access, { label: string; consequence: string }> = {
  workspace: {
    label: 'This workspace',
    consequence: 'Callers send an API key of this workspace, or open a signed link that a member of it creates.',
  },
  organization: {
    label: 'All workspaces of the organization',
    consequence: 'Callers send an API key of any workspace of the organization, or open a signed link.',
  },
  public: {
    label: 'Everyone',
    consequence: 'Everyone who can reach the address can call the agent, without a key.',
  },
}

export function AccessSection() {
  const { settings, canEdit } = useEditor()
  const { id, access } = settings
  const [update, busy] = useCommand('updateDeployment')
  const [wrong, setWrong] = useState<Problem | null>(null)
  async function change(next: Access) {
    const outcome = await update({ deploymentId: id, access: next })
    setWrong(outcome.ok ? null : outcome.problem)
  }
  return (
    <Section id="access" title="Access" about="Changes apply within seconds, without a new revision.">
      <NativeSelect
        label="Who can call the agent"
        description={CHOICES[access].consequence}
        data={Object.entries(CHOICES).map(([value, { label }]) => ({ value, label }))}
        value={access}
        disabled={!canEdit || busy}
        error={formError(wrong, [])}
        onChange={({ currentTarget }) => void change(currentTarget.value as Access)}
        maw={420}
      />
    </Section>
  )
}
