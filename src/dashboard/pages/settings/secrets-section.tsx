/** Secrets, one at a time: set, changed and taken away, staged together into one revision. Nobody has to know the others. */
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
      about="Environment variables of what is built and run. New values make a revision of what runs, without a build; who else changes others meanwhile loses nothing."
    >
      {names.length === 0 ? (
        <Text size="sm" c="dimmed">
          There are none.
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
