-- Windows of the version before the chain of steps.
CREATE FUNCTION start_of_window(period spend_period, at timestamptz) RETURNS timestamptz LANGUAGE sql STABLE
  RETURN CASE period WHEN 'lifetime' THEN NULL ELSE date_trunc(period::text, at, 'UTC') END;

CREATE FUNCTION end_of_window(period spend_period, start timestamptz) RETURNS timestamptz LANGUAGE sql STABLE
  RETURN CASE period WHEN 'lifetime' THEN NULL
    ELSE ((start AT TIME ZONE 'UTC') + ('1 ' || period::text)::interval) AT TIME ZONE 'UTC' END;

CREATE FUNCTION unix_ms(at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE
  RETURN (extract(epoch FROM at) * 1000)::bigint;
