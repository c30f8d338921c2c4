/** A button that copies a text, and a block of code with one. Without the clipboard API (plain http, except localhost) the button is hidden. */
import { ActionIcon, Code, CopyButton, Group, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'

/** `what`: names the text, as in "the address" */
export function Copy({ text, what }: { text: string; what: string }) {
  if (!navigator.clipboard) return null
  return (
    <CopyButton value={text} timeout={1500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : `Copy ${what}`}>
          <ActionIcon
            variant="subtle"
            color={copied ? 'teal' : 'gray'}
            size="sm"
            onClick={copy}
            aria-label={`Copy ${what}`}
          >
            {copied ? <IconCheck size={15} /> : <IconCopy size={15} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  )
}

/** Long lines wrap. */
export const CopyBlock = ({ text, what }: { text: string; what: string }) => (
  <Group gap="xs" wrap="nowrap" align="flex-start">
    <Code block flex={1} miw={0} style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
      {text}
    </Code>
    <Copy text={text} what={what} />
  </Group>
)
