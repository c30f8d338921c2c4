/** The section for source and build fields, and the General section with read-only facts. */
import { Anchor, Text } from '@mantine/core'
import { Copy } from '../../components/copy.tsx'
import { SOURCE_LABELS } from '../../components/labels.ts'
import { Facts } from '../../components/page.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { appliesTo, SOURCE_FIELDS } from './fields.ts'
import { Fields } from './resources-section.tsx'
import { Section } from './section.tsx'
import { useEditor } from './use-editor.ts'

export function SourceSection() {
  const { settings } = useEditor()
  return (
    <Section
      id="source"
      title="Source and build"
      about="A new branch, file or image creates a revision. Commands apply to the next build."
    >
      <Fields fields={SOURCE_FIELDS.filter((field) => appliesTo(field, settings.source))} areWide />
    </Section>
  )
}

export function GeneralSection() {
  const { settings } = useEditor()
  const { id, tenantId, name, source, sourceConfig, sourceRevisionConfig, listener, imageVersion } = settings
  const { repoUrl, integrationId, deploymentType, listenerId, listenerConfig, customUrl } = sourceConfig
  const { sourceTarballPath, repoCommitSha } = sourceRevisionConfig
  const facts = {
    Name: name,
    Source: SOURCE_LABELS[source],
    Repository: repoUrl && (/^https?:/.test(repoUrl) ? <Repository url={repoUrl} /> : repoUrl),
    Commit: repoCommitSha && <Code text={repoCommitSha} what="the commit" />,
    Upload: sourceTarballPath && <Code text={sourceTarballPath} what="the path" />,
    Integration: integrationId && <Code text={integrationId} what="the integration ID" />,
    Type: deploymentType,
    URL: source === 'external_container' ? null : customUrl,
    Listener: listener?.computeId ?? listenerId,
    Namespace: listenerConfig?.k8sNamespace,
    'Image version': imageVersion,
    Created: <TimeAgo at={settings.createdAt} />,
    ID: <Code text={id} what="the ID" />,
    Workspace: <Code text={tenantId} what="the workspace ID" />,
  }
  return (
    <Section id="general" title="General" about="Read-only facts about this deployment.">
      <Facts facts={facts} />
    </Section>
  )
}

const Repository = ({ url }: { url: string }) => (
  <Anchor href={url} target="_blank" rel="noreferrer" inherit>
    {url}
  </Anchor>
)

const Code = ({ text, what }: { text: string; what: string }) => (
  <>
    <Text span ff="monospace" size="sm">
      {text}
    </Text>{' '}
    <Copy text={text} what={what} />
  </>
)
