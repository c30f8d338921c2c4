/** The titled sections of the page, and the buttons that scroll to them. */
import { Button, Group, Paper, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './settings-page.module.css'

interface SectionProps {
  id: string
  title: string
  about?: ReactNode
  children: ReactNode
}

export function Section({ id, title, about, children }: SectionProps) {
  return (
    <Paper withBorder p="lg" radius="md" component="section" aria-labelledby={id}>
      <Stack gap="md">
        <Stack gap={2}>
          <Title order={2} size="h4" id={id} tabIndex={-1} className={classes.heading}>
            {title}
          </Title>
          {about && (
            <Text size="sm" c="dimmed" maw={760} component="div" className={classes.about}>
              {about}
            </Text>
          )}
        </Stack>
        {children}
      </Stack>
    </Paper>
  )
}

const SECTIONS = [
  ['source', 'Source and build'],
  ['secrets', 'Secrets'],
  ['references', 'References'],
  ['resources', 'Resources'],
  ['sleep', 'Sleep'],
  ['access', 'Access'],
  ['tags', 'Tags'],
  ['general', 'General'],
] as const

/** `hidden`: ids of sections that the deployment lacks. */
export function SectionNav({ hidden }: { hidden: readonly (string | false)[] }) {
  // Buttons, not links: a link with a #hash is a navigation, and the leave guard would ask.
  return (
    <Group component="nav" aria-label="On this page" gap={4} ml={-8}>
      {SECTIONS.filter(([id]) => !hidden.includes(id)).map(([id, label]) => (
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
