/** The secrets section. Each secret is set, changed or removed by itself; one save creates one revision. */
import { Text } from '@mantine/core'
import { AddSecret } from './add-secret.tsx'
import { useEditor } from './editor.ts'
import { SecretRow } from './secret-row.tsx'
import { Section } from './section.tsx'
import classes from './settings-page.module.css'

export function SecretsSection() {
  const { settings, staged, canEdit } = useEditor()
  const stored = settings.secrets.map(({ name }) => name)
  const names = [...stored, ...[...staged.secrets.keys()].filter((name) => !stored.includes(name))]
  return (
    <Section
      id="secrets"
      title="Secrets"
      about="Environment variables for build and runtime. Saving creates a revision that reuses the current build. Concurrent edits of other secrets are kept."
    >
      {names.length === 0 ? (
        <Text size="sm" c="dimmed">
          No secrets yet.
        </Text>
      ) : (
        <ul className={classes.secrets} aria-label="Secrets">
          {names.map((name) => (
            <SecretRow key={name} name={name} />
          ))}
        </ul>
      )}
      {canEdit && <AddSecret />}
    </Section>
  )
}
