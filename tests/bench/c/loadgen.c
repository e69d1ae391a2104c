/* loadgen: a closed-loop load generator, the same for every server.
 *
 *   loadgen -u SOCKET -r REQUEST [-H HELLO] [-c CONNS] [-w WINDOW] [-k NAMES]
 *           [-d SECONDS] [-n MESSAGES]
 *   loadgen -t PORT ...       over TCP to 127.0.0.1
 *   loadgen -p ...            one connection a message, ended by half-close and the
 *                             server's clean close; SOCKET may hold a name's place
 *
 * In REQUEST the twelve letters @@@@@@@@@@@@ become a unique hex number and %%%% the
 * name's index (message modulo NAMES); in SOCKET %%%% becomes the index too.  #### is
 * the number of the connection.  HELLO is
 * what is written first, answered by one line; -G LINES are read before it.  An answer
 * is one line, or with -N that many; one whose first begins with - or holds the word
 * error, and a reset, is counted as a failure.  Prints one JSON object.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WINDOW = 4096, IN = 256 * 1024 };

struct conn {
    int fd;
    unsigned events;
    long sent, done;
    double *at; /* when each message in flight was issued */
    char *out;
    size_t out_len, out_off;
    char *req;
    char line[64]; /* the head of the answer being read */
    size_t line_len;
    int line_no; /* of the answer being read */
};

static const char *path;
static char *request;
static size_t request_len;
static long id_at = -1, name_at = -1;
static int window = 1, per_message, port, answer_lines = 1, greeting;
static long names = 1, limit = 1L << 62, issued, finished, failed;
static double end_at;
static unsigned long long base;
static int ep;
static float *latency;
static size_t room = 1 << 20;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void die(const char *what)
{
    perror(what);
    exit(3);
}

static char *slurp(const char *file, size_t *len)
{
    FILE *f = fopen(file, "rb");
    char *all = malloc(4 << 20);
    if (!f || !all)
        die(file);
    *len = fread(all, 1, 4 << 20, f);
    fclose(f);
    return all;
}

static void put_hex(char *p, unsigned long long v)
{
    for (int i = 11; i >= 0; i--, v >>= 4)
        p[i] = "0123456789abcdef"[v & 15];
}

static void put_index(char *p, long v)
{
    for (int i = 3; i >= 0; i--, v /= 10)
        p[i] = '0' + v % 10;
}

static int dial_tcp(void)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
        die("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static int dial(long index)
{
    if (port)
        return dial_tcp();
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    strncpy(to.sun_path, path, sizeof to.sun_path - 1);
    char *place = strstr(to.sun_path, "%%%%");
    if (place)
        put_index(place, index % names);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
        die(to.sun_path);
    return fd;
}

static void want(struct conn *c, unsigned events)
{
    if (c->events == events)
        return;
    struct epoll_event e = { .events = events, .data.ptr = c };
    if (epoll_ctl(ep, c->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->fd, &e) < 0)
        die("epoll_ctl");
    c->events = events;
}

static void flush(struct conn *c)
{
    while (c->out_off < c->out_len) {
        ssize_t w = send(c->fd, c->out + c->out_off, c->out_len - c->out_off, MSG_NOSIGNAL);
        if (w < 0 && errno == EAGAIN) {
            want(c, EPOLLIN | EPOLLOUT);
            return;
        }
        if (w < 0)
            die("send");
        c->out_off += w;
    }
    c->out_off = c->out_len = 0;
    if (per_message)
        shutdown(c->fd, SHUT_WR);
    want(c, EPOLLIN);
}

static void issue(struct conn *c, double t)
{
    while (c->sent - c->done < window && issued < limit && t < end_at) {
        if (per_message) {
            c->fd = dial(issued);
            c->events = 0;
            fcntl(c->fd, F_SETFL, O_NONBLOCK);
        }
        if (id_at >= 0)
            put_hex(c->req + id_at, base + issued);
        if (name_at >= 0)
            put_index(c->req + name_at, issued % names);
        memcpy(c->out + c->out_len, c->req, request_len);
        c->out_len += request_len;
        c->at[c->sent++ % window] = t;
        issued++;
    }
    if (c->out_len)
        flush(c);
}

static void finish(struct conn *c, double t, int bad)
{
    if ((size_t)finished == room) {
        room *= 2;
        latency = realloc(latency, room * sizeof *latency);
        if (!latency)
            die("realloc");
    }
    latency[finished++] = (t - c->at[c->done++ % window]) * 1e6;
    failed += bad;
}

/* Answers that came on a lasting connection; an error is an answer too. */
static void lines(struct conn *c, const char *buf, ssize_t r, double t)
{
    for (ssize_t i = 0; i < r; i++) {
        if (buf[i] != '\n') {
            if (c->line_len + 1 < sizeof c->line)
                c->line[c->line_len++] = buf[i];
            continue;
        }
        if (c->line_len + 1 < sizeof c->line)
            c->line[c->line_len++] = ' ';
        if (++c->line_no < answer_lines)
            continue;
        c->line[c->line_len] = 0;
        int bad = strstr(c->line, "\"error\"") != NULL || c->line[0] == '-';
        if (bad && !failed)
            fprintf(stderr, "loadgen: first failure: %s\n", c->line);
        finish(c, t, bad);
        c->line_len = c->line_no = 0;
    }
}

static void readable(struct conn *c, double t)
{
    static char buf[IN];
    ssize_t r = recv(c->fd, buf, sizeof buf, 0);
    if (r < 0 && errno == EAGAIN)
        return;
    if (per_message) {
        close(c->fd);
        c->out_len = c->out_off = 0;
        finish(c, t, r != 0);
        issue(c, t);
        return;
    }
    if (r <= 0)
        die("server closed");
    lines(c, buf, r, t);
    issue(c, t);
}

/* Write the number of the connection where text has a place for it. */
static void put_number(char *text, size_t len, int number)
{
    char *place = memmem(text, len, "####", 4);
    if (place)
        put_index(place, number);
}

static void skip_line(int fd)
{
    char byte;
    do {
        if (read(fd, &byte, 1) != 1)
            die("hello");
    } while (byte != '\n');
}

static void hello(int fd, const char *text, size_t len)
{
    for (int i = 0; i < greeting; i++)
        skip_line(fd);
    if (write(fd, text, len) != (ssize_t)len)
        die("hello");
    skip_line(fd);
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

static double cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec + u.ru_stime.tv_sec
        + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static void report(double seconds)
{
    size_t n = finished;
    qsort(latency, n, sizeof *latency, by_size);
    printf("{\"msgs\":%zu,\"failed\":%ld,\"secs\":%.4f,\"rate\":%.1f,\"p50_us\":%.1f,"
           "\"p99_us\":%.1f,\"max_us\":%.1f,\"client_cpu_us\":%.2f}\n",
           n, failed, seconds, n / seconds, n ? latency[n / 2] : 0.0,
           n ? latency[(size_t)(n * 0.99)] : 0.0, n ? latency[n - 1] : 0.0,
           cpu() * 1e6 / (n ? n : 1));
}

int main(int argc, char **argv)
{
    char *hi = NULL;
    size_t hi_len = 0;
    int conns = 1, o;
    double seconds = 1;
    while ((o = getopt(argc, argv, "u:t:r:H:c:w:k:d:n:N:G:p")) != -1) {
        switch (o) {
        case 'u': path = optarg; break;
        case 'r': request = slurp(optarg, &request_len); break;
        case 'H': hi = slurp(optarg, &hi_len); break;
        case 'c': conns = atoi(optarg); break;
        case 'w': window = atoi(optarg); break;
        case 'k': names = atol(optarg); break;
        case 'd': seconds = atof(optarg); break;
        case 'n': limit = atol(optarg); break;
        case 'p': per_message = 1; break;
        case 't': port = atoi(optarg); break;
        case 'N': answer_lines = atoi(optarg); break;
        case 'G': greeting = atoi(optarg); break;
        default: return 64;
        }
    }
    if ((!path && !port) || !request || window > MAX_WINDOW || (per_message && window != 1))
        return 64;
    char *place = memmem(request, request_len, "@@@@@@@@@@@@", 12);
    id_at = place ? place - request : -1;
    place = memmem(request, request_len, "%%%%", 4);
    name_at = place ? place - request : -1;
    base = ((unsigned long long)time(NULL) << 20) ^ ((unsigned long long)getpid() << 32);
    latency = malloc(room * sizeof *latency);
    ep = epoll_create1(EPOLL_CLOEXEC);

    struct conn *all = calloc(conns, sizeof *all);
    for (int i = 0; i < conns; i++) {
        struct conn *c = &all[i];
        c->req = memcpy(malloc(request_len), request, request_len);
        put_number(c->req, request_len, i);
        c->out = malloc(request_len * (window + 1));
        c->at = calloc(window, sizeof *c->at);
        if (per_message)
            continue;
        c->fd = dial(0);
        if (hi) {
            char *text = memcpy(malloc(hi_len), hi, hi_len);
            put_number(text, hi_len, i);
            hello(c->fd, text, hi_len);
            free(text);
        }
        fcntl(c->fd, F_SETFL, O_NONBLOCK);
        want(c, EPOLLIN);
    }
    double begun = now(), last = begun;
    end_at = begun + seconds;
    for (int i = 0; i < conns; i++)
        issue(&all[i], begun);
    static struct epoll_event events[512];
    while (finished < issued) {
        int n = epoll_wait(ep, events, 512, 15000);
        if (n <= 0)
            die("stalled");
        last = now();
        for (int i = 0; i < n; i++) {
            struct conn *c = events[i].data.ptr;
            if (events[i].events & EPOLLOUT)
                flush(c);
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                readable(c, last);
        }
    }
    report(last - begun);
    return 0;
}
