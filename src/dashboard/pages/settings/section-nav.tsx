/** Buttons that scroll to a section of the page. */
import { Button, Group } from '@mantine/core'

const SECTIONS = [
  ['source', 'Source and build'],
  ['secrets', 'Secrets'],
  ['references', 'References'],
  ['resources', 'Resources'],
  ['tags', 'Tags'],
  ['general', 'General'],
] as const

export function SectionNav({ references }: { references: boolean }) {
  // Buttons, not links: a link with a #hash is a navigation, and the leave guard would ask.
  return (
    <Group component="nav" aria-label="On this page" gap={4} ml={-8}>
      {SECTIONS.filter(([id]) => id !== 'references' || references).map(([id, label]) => (
        <Button
          key={id}
          size="compact-sm"
          variant="subtle"
          onClick={() => {
            const section = document.getElementById(id)
            section?.scrollIntoView({ block: 'start' })
            section?.focus()
          }}
        >
          {label}
        </Button>
      ))}
    </Group>
  )
}
