/** A log of a revision: which one, what is looked for in it, and its rows. All of that is in the address. */
import { Button, Group, SegmentedControl, Select, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback, useLocalStorage } from '@mantine/hooks'
import { IconAlertCircle, IconDownload, IconSearch, IconTextWrap } from '@tabler/icons-react'
import { useNavigate, useParams, useRouter, useSearch } from '@tanstack/react-router'
import { type RefObject, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { useApi } from '../../api/api-context.tsx'
import { emptyLogText, type LoggedRevision } from './empty-log.ts'
import { findFirstError } from './first-error.ts'
import classes from './log.module.css'
import { LogBuffer } from './log-buffer.ts'
import { LogRows } from './log-rows.tsx'
import { type LogFilter, type LogType, logSource, readWholeLog } from './log-source.ts'
import type { RevisionSearch } from './search.ts'

const ROUTE = '/w/$ws/deployments/$id/revisions/$revisionId'
const LEVELS = [
  { value: 'info', label: 'Info and up' },
  { value: 'warning', label: 'Warnings and up' },
  { value: 'error', label: 'Errors' },
]
/** ms that a search waits for the next letter */
const SEARCH_DEBOUNCE_MS = 250

interface LogViewProps {
  /** where nobody has chosen one */
  defaultType: LogType
  /** For the file that is downloaded. */
  name: string
  revision: LoggedRevision
}

export function LogView({ defaultType, name, revision }: LogViewProps) {
  const api = useApi()
  const { revisionId } = useParams({ from: ROUTE })
  const { log: type = defaultType, line, level, q } = useSearch({ from: ROUTE })
  const navigate = useNavigate({ from: ROUTE })
  const router = useRouter()
  const log: LogFilter = useMemo(
    () => ({ revisionId, type, level: level ?? null, query: q ?? null }),
    [revisionId, type, level, q],
  )
  const buffer = useMemo(() => new LogBuffer(logSource(api, log)), [api, log])
  // a line of those that are there is pointed at where it stands
  useEffect(() => {
    if (line === undefined) {
      if (buffer.isUnopened) void buffer.openNewest()
    } else if (!buffer.highlight(line)) void buffer.openAt(line)
  }, [buffer, line])
  useEffect(() => () => buffer.close(), [buffer])

  const { params } = router.state.matches.at(-1)!
  const updateSearch = (changed: RevisionSearch, replace = true) =>
    void navigate({ search: (now) => ({ ...now, ...changed }), replace, resetScroll: false })
  const hrefOf = (cursor: string) =>
    router.buildLocation({ to: ROUTE, params: params as never, search: { log: type, line: cursor } }).href
  const goToFirstError = async () => {
    const cursor = await findFirstError((filter) => logSource(api, { ...log, ...filter }))
    if (cursor) updateSearch({ line: cursor, level: undefined, q: undefined })
    else setHasNoError(true)
  }
  const [hasNoError, setHasNoError] = useState(false)
  const search = useRef<HTMLInputElement>(null)
  const [wrap, setWrap] = useLocalStorage({ key: 'log-wrap', defaultValue: true, getInitialValueInEffect: false })
  // biome-ignore lint/correctness/useExhaustiveDependencies: of another log nothing was said yet
  useEffect(() => setHasNoError(false), [log])
  return (
    <div className={classes.frame}>
      <Group className={classes.bar} gap="xs" justify="space-between">
        <SegmentedControl
          size="xs"
          value={type}
          onChange={(value) => updateSearch({ log: value as LogType, line: undefined })}
          data={[
            { value: 'build', label: 'Build log' },
            { value: 'deploy', label: 'Deploy log' },
          ]}
        />
        <Group gap="xs" className={classes.tools}>
          <Search
            key={q}
            field={search}
            value={q ?? ''}
            onChange={(value) => updateSearch({ q: value || undefined, line: undefined })}
          />
          <Select
            size="xs"
            className={classes.levels}
            aria-label="Least severe level"
            placeholder="All levels"
            clearable
            data={LEVELS}
            value={level ?? null}
            onChange={(value) =>
              updateSearch({ level: (value ?? undefined) as RevisionSearch['level'], line: undefined })
            }
          />
          <Button
            size="xs"
            variant="default"
            leftSection={<IconAlertCircle size={14} />}
            onClick={() => void goToFirstError()}
            disabled={hasNoError}
          >
            {hasNoError ? 'No error in it' : 'First error'}
          </Button>
          <Button
            size="xs"
            variant={wrap ? 'light' : 'default'}
            leftSection={<IconTextWrap size={14} />}
            aria-pressed={wrap}
            onClick={() => setWrap(!wrap)}
          >
            Wrap
          </Button>
          <Download log={log} name={`${name}-${type}.log`} />
        </Group>
      </Group>
      <LogRows
        buffer={buffer}
        query={log.query}
        wrap={wrap}
        emptyText={(ended) => {
          if (level || q) return ended ? 'No line is like that.' : 'No line is like that yet.'
          return emptyLogText(type, revision, ended)
        }}
        hrefOf={hrefOf}
        // in what is searched a line is picked to see what stands around it
        onPick={(cursor) => updateSearch({ log: type, line: cursor, level: undefined, q: undefined }, false)}
        onSearch={() => search.current?.select()}
        onNewest={() => line !== undefined && updateSearch({ line: undefined })}
        label={`${type === 'build' ? 'Build' : 'Deploy'} log`}
      />
      <StatusLine buffer={buffer} />
    </div>
  )
}

interface SearchProps {
  field: RefObject<HTMLInputElement | null>
  value: string
  onChange(value: string): void
}

/** What is being typed is filter for when the typing rests. */
function Search({ field, value, onChange }: SearchProps) {
  const [text, setText] = useState(value)
  const report = useDebouncedCallback(onChange, SEARCH_DEBOUNCE_MS)
  return (
    <TextInput
      ref={field}
      size="xs"
      className={classes.search}
      leftSection={<IconSearch size={14} />}
      placeholder="Search this log"
      aria-label="Search this log"
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value)
        report(event.currentTarget.value.trim())
      }}
    />
  )
}

function Download({ log, name }: { log: LogFilter; name: string }) {
  const api = useApi()
  const [lines, setLines] = useState<number | null>(null)
  const [wrong, setWrong] = useState<string | null>(null)
  const download = async () => {
    setWrong(null)
    setLines(0)
    try {
      const blob = await readWholeLog(api, log, setLines)
      const link = document.createElement('a')
      link.href = URL.createObjectURL(blob)
      link.download = name
      link.click()
      setTimeout(() => URL.revokeObjectURL(link.href), 1_000)
    } catch (error) {
      setWrong((error as Error).message)
    }
    setLines(null)
  }
  return (
    <Button
      size="xs"
      variant="default"
      leftSection={<IconDownload size={14} />}
      onClick={() => void download()}
      disabled={lines !== null}
      color={wrong ? 'red' : undefined}
      title={wrong ?? 'All lines that match, as a text file'}
    >
      {lines === null ? (wrong ? 'Try again' : 'Download') : `${lines.toLocaleString()} lines…`}
    </Button>
  )
}

function StatusLine({ buffer }: { buffer: LogBuffer }) {
  const { lines, state, error, atStart } = useSyncExternalStore(buffer.subscribe, buffer.getSnapshot)
  const count = `${lines.length.toLocaleString()} ${lines.length === 1 ? 'line' : 'lines'}`
  return (
    <Group className={classes.foot} justify="space-between" gap="xs" role="status">
      <Text size="xs" c="dimmed">
        {state === 'reading' ? 'Reading…' : atStart && state !== 'paused' ? count : `${count} here, more as you scroll`}
      </Text>
      <Text size="xs" c={state === 'failed' ? 'red' : 'dimmed'}>
        {state === 'following' && 'Following'}
        {state === 'ended' && 'Complete'}
        {state === 'failed' && error}
      </Text>
    </Group>
  )
}
