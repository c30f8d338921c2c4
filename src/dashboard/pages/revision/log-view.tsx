/** A log of a revision: which one, what is looked for in it, and its rows. All of that is in the address. */
import { Button, Group, SegmentedControl, Select, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback, useLocalStorage } from '@mantine/hooks'
import { IconAlertCircle, IconDownload, IconSearch, IconTextWrap } from '@tabler/icons-react'
import { useNavigate, useParams, useRouter, useSearch } from '@tanstack/react-router'
import { type RefObject, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { useApi } from '../../api/api-context.tsx'
import { nothingPrinted, type Printer } from './empty-log.ts'
import { firstError } from './first-error.ts'
import classes from './log.module.css'
import { LogBook } from './log-book.ts'
import { LogRows } from './log-rows.tsx'
import { type LogOf, type LogType, logSource, wholeLog } from './log-source.ts'
import type { RevisionSearch } from './search.ts'

const ROUTE = '/w/$ws/deployments/$id/revisions/$revisionId'
const LEVELS = [
  { value: 'info', label: 'Info and up' },
  { value: 'warning', label: 'Warnings and up' },
  { value: 'error', label: 'Errors' },
]
/** ms that a search waits for the next letter */
const TYPING = 250

interface LogViewProps {
  /** where nobody has chosen one */
  preferred: LogType
  /** For the file that is downloaded. */
  name: string
  printer: Printer
}

export function LogView({ preferred, name, printer }: LogViewProps) {
  const api = useApi()
  const { revisionId } = useParams({ from: ROUTE })
  const { log: type = preferred, line, level, q } = useSearch({ from: ROUTE })
  const navigate = useNavigate({ from: ROUTE })
  const router = useRouter()
  const log: LogOf = useMemo(
    () => ({ revisionId, type, level: level ?? null, query: q ?? null }),
    [revisionId, type, level, q],
  )
  const book = useMemo(() => new LogBook(logSource(api, log)), [api, log])
  // a line of those that are there is pointed at where it stands
  useEffect(() => {
    if (line === undefined) {
      if (book.isNew) void book.openNewest()
    } else if (!book.point(line)) void book.openAt(line)
  }, [book, line])
  useEffect(() => () => book.close(), [book])

  const { params } = router.state.matches.at(-1)!
  const look = (changed: RevisionSearch, replace = true) =>
    void navigate({ search: (now) => ({ ...now, ...changed }), replace, resetScroll: false })
  const hrefOf = (cursor: string) =>
    router.buildLocation({ to: ROUTE, params: params as never, search: { log: type, line: cursor } }).href
  const toError = async () => {
    const cursor = await firstError((asked) => logSource(api, { ...log, ...asked }))
    if (cursor) look({ line: cursor, level: undefined, q: undefined })
    else setNoError(true)
  }
  const [noError, setNoError] = useState(false)
  const search = useRef<HTMLInputElement>(null)
  const [wrap, setWrap] = useLocalStorage({ key: 'log-wrap', defaultValue: true, getInitialValueInEffect: false })
  // biome-ignore lint/correctness/useExhaustiveDependencies: of another log nothing was said yet
  useEffect(() => setNoError(false), [log])
  return (
    <div className={classes.frame}>
      <Group className={classes.bar} gap="xs" justify="space-between">
        <SegmentedControl
          size="xs"
          value={type}
          onChange={(value) => look({ log: value as LogType, line: undefined })}
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
            onChange={(value) => look({ q: value || undefined, line: undefined })}
          />
          <Select
            size="xs"
            className={classes.levels}
            aria-label="Least severe level"
            placeholder="All levels"
            clearable
            data={LEVELS}
            value={level ?? null}
            onChange={(value) => look({ level: (value ?? undefined) as RevisionSearch['level'], line: undefined })}
          />
          <Button
            size="xs"
            variant="default"
            leftSection={<IconAlertCircle size={14} />}
            onClick={() => void toError()}
            disabled={noError}
          >
            {noError ? 'No error in it' : 'First error'}
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
        book={book}
        query={log.query}
        wrap={wrap}
        nothing={(ended) => {
          if (level || q) return ended ? 'No line is like that.' : 'No line is like that yet.'
          return nothingPrinted(type, printer, ended)
        }}
        hrefOf={hrefOf}
        // in what is searched a line is picked to see what stands around it
        onPick={(cursor) => look({ log: type, line: cursor, level: undefined, q: undefined }, false)}
        onSearch={() => search.current?.select()}
        onNewest={() => line !== undefined && look({ line: undefined })}
        label={`${type === 'build' ? 'Build' : 'Deploy'} log`}
      />
      <Foot book={book} />
    </div>
  )
}

interface SearchProps {
  field: RefObject<HTMLInputElement | null>
  value: string
  onChange(value: string): void
}

/** What is being typed is asked for when the typing rests. */
function Search({ field, value, onChange }: SearchProps) {
  const [text, setText] = useState(value)
  const ask = useDebouncedCallback(onChange, TYPING)
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
        ask(event.currentTarget.value.trim())
      }}
    />
  )
}

function Download({ log, name }: { log: LogOf; name: string }) {
  const api = useApi()
  const [lines, setLines] = useState<number | null>(null)
  const [wrong, setWrong] = useState<string | null>(null)
  const download = async () => {
    setWrong(null)
    setLines(0)
    try {
      const blob = await wholeLog(api, log, setLines)
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

function Foot({ book }: { book: LogBook }) {
  const { lines, state, wrong, atStart } = useSyncExternalStore(book.watch, book.snapshot)
  const count = `${lines.length.toLocaleString()} ${lines.length === 1 ? 'line' : 'lines'}`
  return (
    <Group className={classes.foot} justify="space-between" gap="xs" role="status">
      <Text size="xs" c="dimmed">
        {state === 'reading' ? 'Reading…' : atStart && state !== 'still' ? count : `${count} here, more as you scroll`}
      </Text>
      <Text size="xs" c={state === 'failed' ? 'red' : 'dimmed'}>
        {state === 'following' && 'Following'}
        {state === 'ended' && 'Complete'}
        {state === 'failed' && wrong}
      </Text>
    </Group>
  )
}
