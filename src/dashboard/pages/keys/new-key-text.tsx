/** Shows the text of a new key, the only time. */
import { Button, Code, Group, Stack, Text } from '@mantine/core'
import { Copy } from '../../components/copy.tsx'
import classes from './keys.module.css'

interface ShownOnceProps {
  name: string
  text: string
  onClose(): void
}

export function NewKeyText({ name, text, onClose }: ShownOnceProps) {
  return (
    <Stack>
      <Text size="sm">
        “{name}” is shown only once. Store it where your program can read it, and send it in the header{' '}
        <Code>X-Api-Key</Code>.
      </Text>
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <Code block className={classes.key} flex={1} data-testid="new-key">
          {text}
        </Code>
        <Copy text={text} what="the key" />
      </Group>
      <Group justify="flex-end">
        <Button onClick={onClose}>Done</Button>
      </Group>
    </Stack>
  )
}
