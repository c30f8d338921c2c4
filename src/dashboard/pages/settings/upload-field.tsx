/** The source field of an uploaded deployment. A dropped folder or tarball uploads immediately, and is staged. */
import { Input, Stack, Text } from '@mantine/core'
import '@mantine/core/styles/Progress.css'
import { useState } from 'react'
import { DropSource } from '../../components/upload/drop-source.tsx'
import type { Source } from '../../components/upload/source.ts'
import { UploadStatus } from '../../components/upload/upload-status.tsx'
import { useUpload } from '../../components/upload/use-upload.ts'
import type { Editor } from './editor.ts'
import { useFieldError } from './editor.ts'
import type { Field } from './fields.ts'
import type { Value } from './staged-changes.ts'

interface UploadFieldProps {
  field: Field
  value: Value
  editor: Editor
  error: string | undefined
}

export function UploadField({ field: { path, label, help, defaultText }, value, editor, error }: UploadFieldProps) {
  const [source, setSource] = useState<Source | null>(null)
  const [failed, setFailed] = useState<string | null>(null)
  const [send, sending] = useUpload()
  useFieldError(path, sending ? 'The upload is still running.' : null)
  const upload = async (chosen: Source) => {
    setFailed(null)
    const sent = await send(editor.settings.id, chosen)
    if (!sent.ok) return setFailed(sent.problem.message)
    setSource(chosen)
    editor.edit(path, sent.objectPath)
  }
  const isStaged = editor.staged.edits.has(path)
  return (
    <Input.Wrapper
      label={label}
      labelElement="div"
      description={editor.canEdit ? help : undefined}
      error={failed ?? (sending ? null : error)}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
    >
      {editor.canEdit ? (
        <Stack gap="xs">
          <DropSource source={isStaged ? source : null} onSource={(chosen) => void upload(chosen)} />
          {sending && <UploadStatus sending={sending} />}
        </Stack>
      ) : (
        <Text size="sm" ff="monospace" style={{ overflowWrap: 'anywhere' }}>
          {(value as string | null) ?? defaultText}
        </Text>
      )}
    </Input.Wrapper>
  )
}
