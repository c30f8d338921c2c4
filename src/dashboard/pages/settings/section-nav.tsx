/** What is on the page, to get there at once. */
import { Button, Group } from '@mantine/core'

const SECTIONS = [
  ['source', 'Source and build'],
  ['secrets', 'Secrets'],
  ['references', 'References'],
  ['resources', 'Resources'],
  ['tags', 'Tags'],
  ['general', 'What it is'],
] as const

export function SectionNav({ references }: { references: boolean }) {
  // no links: an address with a place in it would be another page for who is asked whether to leave this one
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
