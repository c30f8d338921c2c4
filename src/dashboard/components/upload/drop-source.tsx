/** The drop zone and file pickers for a source folder or tarball. */
import { Button, FileButton, Group, Paper, Progress, Stack, Text } from '@mantine/core'
import '@mantine/core/styles/Progress.css'
import { IconFolderUp } from '@tabler/icons-react'
import { type ChangeEvent, type DragEvent, useRef, useState } from 'react'
import { chosenSource, droppedSource, type Source } from './source.ts'
import type { UploadProgress } from './use-upload.ts'

interface DropSourceProps {
  source: Source | null
  onSource(source: Source): void
}

const MB = 1_000_000
const sizeOf = (bytes: number) => (bytes < MB / 10 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / MB).toFixed(1)} MB`)

export function DropSource({ source, onSource }: DropSourceProps) {
  const [isOver, setIsOver] = useState(false)
  const [wrong, setWrong] = useState<string | null>(null)
  const folder = useRef<HTMLInputElement>(null)
  const take = (found: Source | null) => {
    setWrong(found ? null : 'Drop a folder or a .tar.gz file.')
    if (found) onSource(found)
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setIsOver(false)
    void droppedSource(event.dataTransfer).then(take, () => setWrong('The file can’t be read.'))
  }
  return (
    // the buttons inside offer the same by keyboard
    <Paper
      p="lg"
      radius="md"
      ta="center"
      bd={`1px ${isOver ? 'solid' : 'dashed'} gray.6`}
      bg={isOver ? 'var(--mantine-primary-color-light)' : 'none'}
      onDragOver={(event) => {
        event.preventDefault()
        setIsOver(true)
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={drop}
    >
      <Stack gap="xs" align="center">
        <IconFolderUp size={28} stroke={1.4} aria-hidden />
        {source ? (
          <Text size="sm" fw={600}>
            {source.name}
            <Text span inherit c="dimmed" fw={400}>
              {` · ${source.files ? `${source.files.length} files, ` : ''}${sizeOf(source.size)}`}
            </Text>
          </Text>
        ) : (
          <Text size="sm">Drop a folder or a .tar.gz here</Text>
        )}
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={() => folder.current?.click()}>
            Choose a folder
          </Button>
          <FileButton onChange={(file) => file && take(chosenSource([file] as unknown as FileList))} accept=".gz,.tgz">
            {(props) => (
              <Button size="xs" variant="default" {...props}>
                Choose a tarball
              </Button>
            )}
          </FileButton>
        </Group>
        <input
          ref={(input) => {
            input?.setAttribute('webkitdirectory', '')
            folder.current = input
          }}
          type="file"
          hidden
          onChange={({ currentTarget }: ChangeEvent<HTMLInputElement>) => take(chosenSource(currentTarget.files!))}
        />
        <Text size="xs" c="dimmed">
          Up to 200 MB. node_modules and .git are left out.
        </Text>
        {wrong && (
          <Text size="xs" c="red" role="alert">
            {wrong}
          </Text>
        )}
      </Stack>
    </Paper>
  )
}

const LABELS = { packing: 'Packing the source…', uploading: 'Sending the source…' } as const

/** The progress of an upload. */
export function UploadStatus({ sending: { doing, sent } }: { sending: NonNullable<UploadProgress> }) {
  return (
    <Stack gap={4} role="status" miw={160}>
      <Text size="sm" c="dimmed">
        {LABELS[doing]}
      </Text>
      {sent !== undefined && <Progress value={sent * 100} size="sm" aria-label="Sent" />}
    </Stack>
  )
}
