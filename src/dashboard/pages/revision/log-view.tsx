/** A revision's log, or that of all revisions, with its toolbar. The chosen log, filters and line are kept in the URL. */
import { Button, Checkbox, Group, SegmentedControl, Select, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback, useLocalStorage } from '@mantine/hooks'
import { IconAlertCircle, IconDownload, IconSearch, IconTextWrap } from '@tabler/icons-react'
import { useNavigate, useParams, useRouter, useSearch } from '@tanstack/react-router'
import { type RefObject, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { useApi } from '../../api/client.ts'
import { RANGES } from '../../components/metrics/ranges.ts'
import classes from './log.module.css'
import { LogBuffer } from './log-buffer.ts'
import { emptyLogText, findFirstError, type LoggedRevision } from './log-hints.ts'
import { LogRows } from './log-rows.tsx'
import { type LogFilter, type LogType, logSource, readWholeLog } from './log-source.ts'
import type { RevisionSearch } from './search.ts'

const ROUTE = '/w/$ws/deployments/$id/revisions/$revisionId'
const LEVELS = [
  { value: 'info', label: 'Info and up' },
  { value: 'warning', label: 'Warnings and up' },
  { value: 'error', label: 'Errors' },
]
const PERIODS = Object.entries(RANGES).map(([value, { label }]) => ({ value, label: `Last ${label}` }))
/** Without filters, so the lines around a line are visible. */
const NO_FILTERS: RevisionSearch = { level: undefined, q: undefined, fields: undefined, since: undefined }
const SEARCH_DEBOUNCE_MS = 250

interface LogViewProps {
  /** shown unless the URL names a log */
  defaultType: LogType
  /** name of the downloaded file, without type and extension */
  name: string
  revision: LoggedRevision
}

export function LogView({ defaultType, name, revision }: LogViewProps) {
  const api = useApi()
  const { id, revisionId } = useParams({ from: ROUTE })
  const { log: type = defaultType, line, level, q, fields, since, all } = useSearch({ from: ROUTE })
  const navigate = useNavigate({ from: ROUTE })
  const router = useRouter()
  const log: LogFilter = useMemo(
    () => ({
      revisionId,
      deploymentId: all ? id : null,
      type,
      level: level ?? null,
      query: q ?? null,
      fields: fields ?? null,
      startTime: since ? new Date(Date.now() - RANGES[since].seconds * 1000).toISOString() : null,
    }),
    [revisionId, id, all, type, level, q, fields, since],
  )
  const buffer = useMemo(() => new LogBuffer(logSource(api, log)), [api, log])
  // a line that is in memory is highlighted without a read
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
    router.buildLocation({ to: ROUTE, params: params as never, search: { log: type, line: cursor, all } }).href
  const goToFirstError = async () => {
    const cursor = await findFirstError((filter) =>
      logSource(api, { ...log, fields: null, startTime: null, ...filter }),
    )
    if (cursor) updateSearch({ ...NO_FILTERS, line: cursor })
    else setHasNoError(true)
  }
  const [hasNoError, setHasNoError] = useState(false)
  const search = useRef<HTMLInputElement>(null)
  const [wrap, setWrap] = useLocalStorage({ key: 'log-wrap', defaultValue: true, getInitialValueInEffect: false })
  // biome-ignore lint/correctness/useExhaustiveDependencies: resets for another log
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
        <Checkbox
          size="xs"
          label="All revisions"
          checked={all ?? false}
          onChange={(event) => updateSearch({ all: event.currentTarget.checked || undefined, line: undefined })}
        />
        <Group gap="xs" className={classes.tools}>
          <Search
            key={`text ${q}`}
            field={search}
            label="Search this log"
            value={q ?? ''}
            onChange={(value) => updateSearch({ q: value || undefined, line: undefined })}
          />
          <Search
            key={`fields ${fields}`}
            label="Fields of JSON lines"
            placeholder="status=500"
            value={fields ?? ''}
            onChange={(value) => updateSearch({ fields: value || undefined, line: undefined })}
          />
          <Select
            size="xs"
            className={classes.levels}
            aria-label="Time"
            placeholder="Any time"
            clearable
            data={PERIODS}
            value={since ?? null}
            onChange={(value) =>
              updateSearch({ since: (value ?? undefined) as RevisionSearch['since'], line: undefined })
            }
          />
          <Select
            size="xs"
            className={classes.levels}
            aria-label="Minimum level"
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
            {hasNoError ? 'No errors' : 'First error'}
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
          if (level || q || fields || since) return ended ? 'No matching lines.' : 'No matching lines yet.'
          return emptyLogText(type, revision, ended)
        }}
        hrefOf={hrefOf}
        // clears the filters, so the lines around the picked line are visible
        onPick={(cursor) => updateSearch({ ...NO_FILTERS, log: type, line: cursor }, false)}
        onSearch={() => search.current?.select()}
        onNewest={() => line !== undefined && updateSearch({ line: undefined })}
        label={`${type === 'build' ? 'Build' : 'Deploy'} log`}
      />
      <StatusLine buffer={buffer} />
    </div>
  )
}

interface SearchProps {
  field?: RefObject<HTMLInputElement | null>
  label: string
  /** default: the label */
  placeholder?: string
  value: string
  onChange(value: string): void
}

/** Reports the text when the reader stops typing. */
function Search({ field, label, placeholder = label, value, onChange }: SearchProps) {
  const [text, setText] = useState(value)
  const report = useDebouncedCallback(onChange, SEARCH_DEBOUNCE_MS)
  return (
    <TextInput
      ref={field}
      size="xs"
      className={classes.search}
      leftSection={<IconSearch size={14} />}
      placeholder={placeholder}
      aria-label={label}
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
  const [failure, setFailure] = useState<string | null>(null)
  const download = async () => {
    setFailure(null)
    setLines(0)
    try {
      const blob = await readWholeLog(api, log, setLines)
      const link = document.createElement('a')
      link.href = URL.createObjectURL(blob)
      link.download = name
      link.click()
      setTimeout(() => URL.revokeObjectURL(link.href), 1_000)
    } catch (error) {
      setFailure((error as Error).message)
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
      color={failure ? 'red' : undefined}
      title={failure ?? 'Download matching lines as a text file'}
    >
      {lines === null ? (failure ? 'Try again' : 'Download') : `${lines.toLocaleString()} lines…`}
    </Button>
  )
}

function StatusLine({ buffer }: { buffer: LogBuffer }) {
  const { lines, state, error, atStart } = useSyncExternalStore(buffer.subscribe, buffer.getSnapshot)
  const count = `${lines.length.toLocaleString()} ${lines.length === 1 ? 'line' : 'lines'}`
  return (
    <Group className={classes.foot} justify="space-between" gap="xs" role="status">
      <Text size="xs" c="dimmed">
        {state === 'reading' ? 'Loading…' : atStart && state !== 'paused' ? count : `${count} loaded, scroll for more`}
      </Text>
      <Text size="xs" c={state === 'failed' ? 'red' : 'dimmed'}>
        {state === 'following' && 'Following'}
        {state === 'ended' && 'Complete'}
        {state === 'failed' && error}
      </Text>
    </Group>
  )
}
