/** The address of a deployment: to copy, and to open in a new tab. A deployment that isn't public is opened by a signed link. */
import { Anchor, Group, Text } from '@mantine/core'
import { IconExternalLink } from '@tabler/icons-react'
import { type MouseEvent, useState } from 'react'
import { Copy } from '../../components/copy.tsx'
import { useCreateLink } from '../../components/deployment-link.ts'
import type { ShownDeployment } from './documents.ts'
import classes from './overview.module.css'

const ACCESS_TEXTS = {
  workspace: 'for this workspace',
  organization: 'for the organization',
  public: 'public: everyone can call it',
}

interface AddressProps {
  deployment: ShownDeployment
  url: string
}

export function Address({ deployment: { id, access, nameUrl }, url }: AddressProps) {
  const [createLink] = useCreateLink()
  const [failure, setFailure] = useState<string | null>(null)
  // a port without names takes keys only
  const takesLinks = nameUrl !== null
  const open = async (event: MouseEvent) => {
    if (access === 'public' || !takesLinks) return
    event.preventDefault()
    // browsers block a tab that opens after an answer
    const tab = window.open('', '_blank')
    if (!tab) return setFailure('The browser blocked the new tab. Allow pop-ups for this page.')
    setFailure(null)
    // the agent must not reach this page
    tab.opener = null
    const outcome = await createLink({ input: { deploymentId: id } })
    if (outcome.ok) return tab.location.replace(outcome.value.url)
    tab.close()
    setFailure(outcome.problem.message)
  }
  return (
    <>
      <Group gap={6} wrap="nowrap" miw={0}>
        <Anchor
          href={url}
          target="_blank"
          rel="noreferrer"
          className={classes.url}
          onClick={(event) => void open(event)}
        >
          {url}
          <IconExternalLink size={14} aria-label="opens in a new tab" />
        </Anchor>
        <Copy text={url} what="the URL" />
        <Text span size="xs" c="dimmed">
          {ACCESS_TEXTS[access]}
          {access !== 'public' && !takesLinks && ', by an API key: browsers can’t open it'}
        </Text>
      </Group>
      {failure && (
        <Text size="sm" c="red" role="alert">
          {failure}
        </Text>
      )}
    </>
  )
}
