/** A titled section of the page. */
import { Paper, Stack, Text, Title } from '@mantine/core'
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
