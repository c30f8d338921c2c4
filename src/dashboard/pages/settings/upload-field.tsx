/** The source field of an uploaded deployment. A dropped folder or tarball uploads immediately; saving uses it. */
import { Input, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { DropSource, UploadStatus } from '../../components/upload/drop-source.tsx'
import type { Source } from '../../components/upload/source.ts'
import { useUpload } from '../../components/upload/use-upload.ts'
import type { Field } from './fields.ts'
import { inputOf as storedInput, UPLOADING } from './inputs.ts'
import { useEditor } from './use-editor.ts'

export function UploadField({ field, error }: { field: Field; error: string | undefined }) {
  const { settings, edits, inputOf, edit, canEdit } = useEditor()
  const [source, setSource] = useState<Source | null>(null)
  const [failed, setFailed] = useState<string | null>(null)
  const [send, sending] = useUpload()
  const { name, label, help, defaultText } = field
  const input = inputOf(field)
  const upload = async (chosen: Source) => {
    const before = input === UPLOADING ? storedInput(settings, field) : input
    setFailed(null)
    edit(name, UPLOADING)
    const sent = await send(settings.id, chosen)
    edit(name, sent.ok ? sent.objectPath : before)
    if (sent.ok) setSource(chosen)
    else setFailed(sent.problem.message)
  }
  return (
    <Input.Wrapper
      label={label}
      labelElement="div"
      description={canEdit ? help : undefined}
      error={failed ?? (sending ? null : error)}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
    >
      {canEdit ? (
        <Stack gap="xs">
          <DropSource source={name in edits && !sending ? source : null} onSource={(chosen) => void upload(chosen)} />
          {sending && <UploadStatus sending={sending} />}
        </Stack>
      ) : (
        <Text size="sm" ff="monospace" style={{ overflowWrap: 'anywhere' }}>
          {`${input}` || defaultText}
        </Text>
      )}
    </Input.Wrapper>
  )
}
