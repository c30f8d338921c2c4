/** The section for source and build fields, and the General section with read-only facts. */
import { Anchor, SimpleGrid, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Copy } from '../../components/copy.tsx'
import { SOURCE_LABELS } from '../../components/labels.ts'
import { TimeAgo } from '../../components/time.tsx'
import { useEditor } from './editor.ts'
import { FieldInput } from './field-input.tsx'
import { appliesTo, SOURCE_FIELDS } from './fields.ts'
import { Section } from './section.tsx'
import classes from './settings-page.module.css'

export function SourceSection() {
  const { settings } = useEditor()
  const fields = SOURCE_FIELDS.filter((field) => appliesTo(field, settings.source))
  return (
    <Section
      id="source"
      title="Source and build"
      about="A new branch, file or image creates a revision. Commands apply to the next build."
    >
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        {fields.map((field) => (
          <FieldInput key={field.path} field={field} />
        ))}
      </SimpleGrid>
    </Section>
  )
}

export function GeneralSection() {
  const { settings } = useEditor()
  const { id, tenantId, name, source, sourceConfig, sourceRevisionConfig, listener, imageVersion } = settings
  const { repoUrl, integrationId, deploymentType, listenerId, listenerConfig, customUrl } = sourceConfig
  const { sourceTarballPath, repoCommitSha } = sourceRevisionConfig
  return (
    <Section id="general" title="General" about="Read-only facts about this deployment.">
      <dl className={classes.facts}>
        <Fact name="Name">{name}</Fact>
        <Fact name="Source">{SOURCE_LABELS[source]}</Fact>
        <Fact name="Repository">
          {repoUrl &&
            (/^https?:/.test(repoUrl) ? (
              <Anchor href={repoUrl} target="_blank" rel="noreferrer" inherit>
                {repoUrl}
              </Anchor>
            ) : (
              repoUrl
            ))}
        </Fact>
        <Fact name="Commit">{repoCommitSha && <Code text={repoCommitSha} what="the commit" />}</Fact>
        <Fact name="Upload">{sourceTarballPath && <Code text={sourceTarballPath} what="the path" />}</Fact>
        <Fact name="Integration">{integrationId && <Code text={integrationId} what="the integration ID" />}</Fact>
        <Fact name="Type">{deploymentType}</Fact>
        <Fact name="URL">{source === 'external_container' ? null : customUrl}</Fact>
        <Fact name="Listener">{listener?.computeId ?? listenerId}</Fact>
        <Fact name="Namespace">{listenerConfig?.k8sNamespace}</Fact>
        <Fact name="Image version">{imageVersion}</Fact>
        <Fact name="Created">
          <TimeAgo at={settings.createdAt} />
        </Fact>
        <Fact name="ID">
          <Code text={id} what="the ID" />
        </Fact>
        <Fact name="Workspace">
          <Code text={tenantId} what="the workspace ID" />
        </Fact>
      </dl>
    </Section>
  )
}

/** Renders nothing without a value. */
function Fact({ name, children }: { name: string; children: ReactNode }) {
  if (children === null || children === undefined || children === '') return null
  return (
    <>
      <Text component="dt" size="sm">
        {name}
      </Text>
      <Text component="dd" size="sm">
        {children}
      </Text>
    </>
  )
}

function Code({ text, what }: { text: string; what: string }) {
  return (
    <>
      <Text span ff="monospace" size="sm">
        {text}
      </Text>{' '}
      <Copy text={text} what={what} />
    </>
  )
}
